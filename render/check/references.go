package check

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// checkReferences checks that every named file exists. One that a static pod names lies in a volume
// of it, and the pod's user can read it, or write it where the program does.
func (c *inspection) checkReferences() {
	for _, p := range slices.Sorted(maps.Keys(c.kubeconfigs)) {
		for _, file := range c.kubeconfigs[p].Files() {
			c.requirePath("file "+p, file)
		}
	}
	for _, file := range c.kubelet.Paths {
		c.requirePath("file "+plan.KubeletConfig, file)
	}
	for _, f := range c.node.Files {
		if machine.LiesIn(f.Path, plan.UnitDir) {
			c.checkUnit(f)
		}
		if machine.LiesIn(f.Path, plan.KubernetesDir+"/apiserver") {
			for _, named := range namedPath.FindAllString(string(f.Content), -1) {
				c.requirePath("file "+f.Path, named)
			}
		}
	}
	for _, file := range strings.Fields(c.tree.HookData("retire")) {
		c.requirePath("file "+plan.KilnDir+"/machine: retire", file)
	}
	for _, p := range c.programs {
		c.checkVolumes(p)
		c.checkSchedulerFile(p)
		for _, flag := range slices.Sorted(maps.Keys(p.Flags)) {
			for _, value := range p.Flags[flag] {
				for _, file := range machine.SplitList(value) {
					if flag == "tls-sni-cert-key" { // CERTIFICATE,KEY:NAME,…
						file, _, _ = strings.Cut(file, ":")
					}
					c.requireUsable(p, flag, file)
				}
			}
		}
	}
}

// namedPath matches a path of a file in the settings of the API server.
var namedPath = regexp.MustCompile(`/etc/kubernetes/[\w./-]*\w`)

// checkSchedulerFile checks what a scheduler takes from the file of --config in place of flags: its
// kubeconfig, without which it looks for a service account's, and its profiles, of which one must
// be for pods that name no scheduler, such as CoreDNS' (k8s.io/kubernetes v1.36.3,
// cmd/kube-scheduler/app/options/deprecated.go and options.go).
func (c *inspection) checkSchedulerFile(p *machine.Program) {
	const flag, standard = "config", corev1.DefaultSchedulerName
	file := p.File(flag).Path
	var settings struct {
		ClientConnection struct {
			Kubeconfig string `json:"kubeconfig"`
		} `json:"clientConnection"`
		Profiles []struct {
			SchedulerName string `json:"schedulerName"`
		} `json:"profiles"`
	}
	if p.Name != target.Scheduler || !p.IsComponent() || c.tree.Exact(file) == nil {
		return
	}
	c.readSettings(p, flag, &settings)
	if inside := settings.ClientConnection.Kubeconfig; inside == "" {
		c.failFlag(p, flag, fmt.Sprintf("%s has no clientConnection.kubeconfig, and the flag "+
			"--kubeconfig does not count beside it; write kubeconfig: %s", file,
			plan.SchedulerConf))
	} else {
		c.requireUsable(p, flag, inside)
	}
	isStandard := false
	for _, profile := range settings.Profiles {
		isStandard = isStandard || profile.SchedulerName == standard || profile.SchedulerName == ""
	}
	if len(settings.Profiles) > 0 && !isStandard {
		c.failFlag(p, flag, fmt.Sprintf("%s has no profile %s, so that no machine gets a pod that "+
			"names no scheduler, CoreDNS' among them; add {schedulerName: %[2]s} to profiles",
			file, standard))
	}
}

// checkVolumes checks that a pod has each volume that a program mounts, and that a path of the
// machine that must exist does so, with the right type.
func (c *inspection) checkVolumes(p *machine.Program) {
	for _, m := range p.VolumeMounts {
		hasName := func(v corev1.Volume) bool { return v.Name == m.Name }
		i := slices.IndexFunc(p.Pod.Spec.Volumes, hasName)
		if i < 0 {
			c.fail("%s: mounts the volume %q, which the pod does not have; add it", p, m.Name)
			continue
		}
		host := p.Pod.Spec.Volumes[i].HostPath
		if host == nil || host.Type != nil && strings.HasSuffix(string(*host.Type), "OrCreate") {
			continue
		}
		source := p.String() + ": volume " + m.Name
		c.requirePath(source, host.Path)
		if host.Type == nil || !c.tree.Has(host.Path) {
			continue
		}
		isFile := c.tree.File(host.Path) != nil
		if isFile != (*host.Type == corev1.HostPathFile) {
			c.fail("%s: %s is not of the type %s; correct the type", source, host.Path, *host.Type)
		}
	}
}

var writtenFlags = map[string]bool{"audit-log-path": true, "data-dir": true, "wal-dir": true}

// requireUsable adds an error unless a path that a flag of p names is in a volume of the pod, and
// leads to something that the pod's user may use. A path in no volume is taken for one of the
// image. That is an error if the document has the path, if only the document can have it, if the
// program writes it, or if the image is one of Kubernetes, of which the files are known.
func (c *inspection) requireUsable(p *machine.Program, flag, inside string) {
	if !path.IsAbs(inside) {
		if flag != "tls-sni-cert-key" && p.ReadsFile(flag, inside) {
			c.failFlag(p, flag, inside+" is not an absolute path; begin it with a slash")
		}
		return
	}
	source := p.String() + ": --" + flag
	at := p.Locate(inside)
	needsVolume := isOnlyInDocument(inside) || c.tree.Exact(inside) != nil || writtenFlags[flag] ||
		c.cluster.Plan.Config.Spec.Images[p.Name] == "" && p.ReadsFile(flag, inside)
	switch {
	case at.Mount == nil && needsVolume:
		c.failFlag(p, flag, inside+" is in no volume of the pod; add a volume and its mount")
	case at.Path == "": // in the image, or in a volume that is not a path of the machine
	case writtenFlags[flag] && at.Mount.ReadOnly:
		c.fail("%s: %s is written, and its volume %s is read-only; remove readOnly from the mount",
			source, inside, at.Mount.Name)
	case writtenFlags[flag]:
		c.requireAccess(source, p.User(), at, mayWrite)
	case c.lacks(at.Path):
		c.failFlag(p, flag, "names "+at.Path+", which the machine does not have; correct the path")
	default:
		c.requireAccess(source, p.User(), at, mayRead)
		if k := c.kubeconfigs[at.Path]; k != nil {
			for _, file := range k.Files() {
				c.requireUsable(p, flag, file)
			}
		}
	}
}

// failFlag adds an error about a flag of a static pod: a problem where a line of the user's files
// is to blame.
func (c *inspection) failFlag(p *machine.Program, flag, message string) {
	m := &machine.Machine{Machine: c.machine, Node: c.node}
	if problem, ok := c.facts.commands.FlagProblem(m, p, flag, message); ok {
		c.errs = append(c.errs, config.Problems{problem})
		return
	}
	c.fail("%s: --%s: %s", p, flag, message)
}

func (c *inspection) requirePath(source, p string) {
	if c.lacks(p) {
		c.fail("%s: names %s, which the machine does not have; correct the path", source, p)
	}
}

// lacks reports whether a path is missing that only the document can bring. The kubelet of a pool
// writes its own files, after it joined with a token.
func (c *inspection) lacks(p string) bool {
	return isOnlyInDocument(p) && !c.tree.Has(p) &&
		!(c.machine.Pool && (p == plan.KubeletConf || machine.LiesIn(p, plan.KubeletPKI)))
}

func isOnlyInDocument(p string) bool {
	for _, dir := range []string{plan.KubernetesDir, "/etc/etcd", plan.KubeletPKI, plan.KilnDir} {
		if machine.LiesIn(p, dir) && !strings.ContainsAny(p, " \n") {
			return true
		}
	}
	return p == plan.EtcdData || p == plan.AuditDir
}

// Permission bits.
const (
	mayEnter = 0o1
	mayWrite = 0o2
	mayRead  = 0o4
)

// requireAccess adds an error unless the kernel lets a user enter every directory from the
// beginning of a volume down to a path, and read or write what is there. Directories above the
// volume do not count, because the container has its own. A path that is to be written need not
// exist; then its parent must be writable.
func (c *inspection) requireAccess(source string, u machine.User, at machine.Location, bit uint32) {
	var parents []node.Dir // the nearest first
	for dir := at.Path; dir != at.Root && dir != "/"; {
		dir = path.Dir(dir)
		if d, known := c.tree.Dir(dir); known {
			parents = append(parents, d)
		}
	}
	for _, d := range parents {
		if !c.isAllowed(u, d, mayEnter) {
			c.fail("%s: the pod's user %d cannot enter %s (mode %04o, owner %s); "+
				"give it to that user", source, u.ID, d.Path, d.Mode, node.Owner(d.User))
			return
		}
	}
	target, known := c.tree.Dir(at.Path)
	if f := c.tree.File(at.Path); f != nil {
		target = node.Dir{Path: f.Path, Mode: f.Mode, User: f.User, Group: f.Group}
		known = true
	} else if !known && bit == mayWrite && len(parents) > 0 {
		target, known = parents[0], true
	}
	if known && !c.isAllowed(u, target, bit) {
		verb := map[uint32]string{mayWrite: "write", mayRead: "read"}[bit]
		c.fail("%s: the pod's user %d cannot %s %s (mode %04o, owner %s); give it to that user",
			source, u.ID, verb, target.Path, target.Mode, node.Owner(target.User))
	}
}

// isAllowed reports whether the kernel grants a user a permission bit on something with the owner,
// group and mode of d. It reports true if only the machine knows the number of the owner or group.
func (c *inspection) isAllowed(u machine.User, d node.Dir, bit uint32) bool {
	owner, group := c.ownerID(d.User), c.ownerID(d.Group)
	switch {
	case u.Unrestricted || owner < 0 || group < 0:
		return true
	case owner == u.ID:
		return d.Mode>>6&bit != 0
	case slices.Contains(u.Groups, group):
		return d.Mode>>3&bit != 0
	default:
		return d.Mode&bit != 0
	}
}

// ownerID returns the number of a user, or of a group: a user and its group have the same name and
// number. It returns -1 if only the machine knows the number.
func (c *inspection) ownerID(name string) int64 {
	name = node.Owner(name)
	if name == node.Root {
		return 0
	}
	for _, u := range c.node.Users {
		if u.Name == name {
			return int64(u.ID)
		}
	}
	if n, err := strconv.ParseInt(name, 10, 64); err == nil {
		return n
	}
	return -1
}

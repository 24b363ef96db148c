package check

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kiln/render/node"
	"kiln/render/plan"
)

// references: every file that something on the machine names is there; a static pod's lies in one of its volumes, and
// may be read, or written, by the user that the pod runs as.
func (c *inspection) references() {
	for _, p := range slices.Sorted(maps.Keys(c.kubeconfigs)) {
		for _, file := range c.kubeconfigs[p].files() {
			c.exists("file "+p, file)
		}
	}
	for _, file := range c.kubelet.paths {
		c.exists("file "+plan.KubeletConfig, file)
	}
	for _, f := range c.node.Files {
		if within(f.Path, plan.UnitDir) {
			c.unit(f)
		}
	}
	for _, file := range strings.Fields(c.hookData("retire")) {
		c.exists("file "+plan.KilnDir+"/machine: retire", file)
	}
	for _, p := range c.programs {
		c.volumes(p)
		for _, flag := range slices.Sorted(maps.Keys(p.flags)) {
			for _, value := range p.flags[flag] {
				for _, file := range list(value) {
					c.uses(p, flag, file)
				}
			}
		}
	}
}

// files are the files that a kubeconfig names.
func (k *kubeconfig) files() (out []string) {
	for _, file := range []string{k.Clusters[0].Cluster.CA, k.Users[0].User.Cert, k.Users[0].User.Key} {
		if file != "" {
			out = append(out, file)
		}
	}
	return out
}

// unitSettings are the settings of units that name files which must be there. With a "-" or "!" before it a path may be
// missing.
var unitSettings = []string{"ConditionPathExists=", "EnvironmentFile=", "ExecStart=", "ExecStartPre=", "ExecStartPost=", "ExecReload=", "ExecStop="}

// unit: the files in a unit's conditions and commands.
func (c *inspection) unit(f node.File) {
	for line := range strings.Lines(strings.ReplaceAll(string(f.Content), "\\\n", " ")) {
		for _, setting := range unitSettings {
			rest, found := strings.CutPrefix(line, setting)
			if !found {
				continue
			}
			for _, word := range words(rest) {
				_, value, isFlag := strings.Cut(word, "=")
				if !isFlag {
					value = word
				}
				c.exists("file "+f.Path, value)
			}
		}
	}
}

// exists: a path that only the document can bring is in the document.
func (c *inspection) exists(by, p string) {
	if ours(p) && !c.has(p) && !c.later(p) {
		c.fail("%s: names %s, which the machine does not have; correct the path", by, p)
	}
}

// has says whether a path is there, as a file, link or directory, or as the parent of one.
func (c *inspection) has(p string) bool {
	_, isDir := c.dirs[p]
	_, isLink := c.links[p]
	return isDir || isLink || c.files[p] != nil
}

// later says that a kubelet that joins with a token makes the file when it has joined.
func (c *inspection) later(p string) bool {
	return c.machine.Token && (p == plan.KubeletConf || within(p, plan.KubeletPKI))
}

// ours says whether a path is one that only the document can bring.
func ours(p string) bool {
	for _, dir := range []string{plan.KubernetesDir, "/etc/etcd", plan.KubeletPKI, plan.KilnDir} {
		if within(p, dir) && !strings.ContainsAny(p, " \n") {
			return true
		}
	}
	return p == plan.EtcdData || p == plan.AuditDir
}

// resolve follows the links of the document.
func (c *inspection) resolve(p string) string {
	for range len(c.links) {
		target, isLink := c.links[p]
		if !isLink {
			break
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(p), target)
		}
		p = target
	}
	return p
}

// volumes: what a pod mounts is among its volumes, and a folder or file of the machine that must be there is.
func (c *inspection) volumes(p *program) {
	for _, m := range p.VolumeMounts {
		i := slices.IndexFunc(p.pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		if i < 0 {
			c.fail("%s: mounts the volume %q, which the pod does not have; add it", p, m.Name)
			continue
		}
		source := p.pod.Spec.Volumes[i].HostPath
		if source == nil || source.Type != nil && strings.HasSuffix(string(*source.Type), "OrCreate") {
			continue
		}
		by := p.String() + ": volume " + m.Name
		c.exists(by, source.Path)
		isFile := c.file(source.Path) != nil
		if source.Type != nil && c.has(source.Path) && isFile != (*source.Type == corev1.HostPathFile) {
			c.fail("%s: %s is not of the type %s; correct the type", by, source.Path, *source.Type)
		}
	}
}

// written are the flags whose paths a program writes.
var written = map[string]bool{"audit-log-path": true, "data-dir": true, "wal-dir": true}

// uses: a path that a flag names is in a volume of the pod and leads to something that its user may use. A path in no
// volume may be the image's own, unless the document has it too.
func (c *inspection) uses(p *program, flag, inside string) {
	if !path.IsAbs(inside) {
		return
	}
	by := p.String() + ": --" + flag
	at := p.at(inside)
	switch {
	case at.mount == nil && (ours(inside) || c.files[inside] != nil || written[flag]):
		c.fail("%s: %s is in no volume of the pod; add a volume and its mount", by, inside)
	case at.path == "": // in the image, or in a volume that is not the machine's
	case written[flag] && at.mount.ReadOnly:
		c.fail("%s: %s is written, and its volume %s is read-only; remove readOnly from the mount", by, inside, at.mount.Name)
	case written[flag]:
		c.permits(by, p.user(), at, mayWrite)
	default:
		c.exists(by, at.path)
		c.permits(by, p.user(), at, mayRead)
		if k := c.kubeconfigs[at.path]; k != nil {
			for _, file := range k.files() {
				c.uses(p, flag, file)
			}
		}
	}
}

// user is whom a program runs as, for the kernel's permission checks.
type user struct {
	id     int64
	groups []int64
	any    bool // may do everything, whatever the modes say
}

// user returns whom p runs as: the container's settings win over the pod's, and without any it is root for our own
// images and not known for the user's. Root without its capabilities is held to the modes like everybody else.
func (p *program) user() user {
	pod, own := p.pod.Spec.SecurityContext, p.SecurityContext
	if pod == nil {
		pod = &corev1.PodSecurityContext{}
	}
	if own == nil {
		own = &corev1.SecurityContext{}
	}
	var drop, add []corev1.Capability
	if own.Capabilities != nil {
		drop, add = own.Capabilities.Drop, own.Capabilities.Add
	}
	u := user{
		id:     or(own.RunAsUser, pod.RunAsUser),
		groups: append([]int64{or(own.RunAsGroup, pod.RunAsGroup), or(pod.FSGroup)}, pod.SupplementalGroups...),
	}
	unknown := !p.known() && own.RunAsUser == nil && pod.RunAsUser == nil
	privileged := own.Privileged != nil && *own.Privileged
	u.any = unknown || privileged || u.id == 0 && (overrides(add) || !overrides(drop))
	return u
}

// overrides says whether the capability to pass over modes is in a list.
func overrides(list []corev1.Capability) bool {
	return slices.Contains(list, "ALL") || slices.Contains(list, "DAC_OVERRIDE")
}

// or returns the first number that is set, or 0, which is root.
func or(numbers ...*int64) int64 {
	for _, n := range numbers {
		if n != nil {
			return *n
		}
	}
	return 0
}

// Permission bits.
const (
	mayEnter = 0o1
	mayWrite = 0o2
	mayRead  = 0o4
)

// permits: the kernel lets a user into every directory from where the volume begins down to a path, and read or write
// that. The directories above the volume are the container's own. What is to be written may not be there yet.
func (c *inspection) permits(by string, u user, at location, bit uint32) {
	var way []node.Dir
	for dir := at.path; dir != at.root && dir != "/"; {
		dir = path.Dir(dir)
		if d, known := c.dirs[dir]; known {
			way = append(way, d)
		}
	}
	for _, d := range way {
		if !c.allowed(u, d, mayEnter) {
			c.fail("%s: the pod's user %d cannot enter %s (mode %04o, owner %s); give it to that user", by, u.id, d.Path, d.Mode, node.Owner(d.User))
			return
		}
	}
	end, known := c.dirs[at.path]
	if f := c.file(at.path); f != nil {
		end, known = node.Dir{Path: f.Path, Mode: f.Mode, User: f.User, Group: f.Group}, true
	} else if !known && bit == mayWrite && len(way) > 0 {
		end, known = way[0], true
	}
	if known && !c.allowed(u, end, bit) {
		c.fail("%s: the pod's user %d cannot %s %s (mode %04o, owner %s); give it to that user", by, u.id, map[uint32]string{mayWrite: "write", mayRead: "read"}[bit], end.Path, end.Mode, node.Owner(end.User))
	}
}

// allowed says whether the kernel grants a permission bit on something of that owner, group and mode. An owner whose
// number only the machine knows is not judged.
func (c *inspection) allowed(u user, d node.Dir, bit uint32) bool {
	owner, group := c.id(d.User), c.id(d.Group)
	switch {
	case u.any || owner < 0 || group < 0:
		return true
	case owner == u.id:
		return d.Mode>>6&bit != 0
	case slices.Contains(u.groups, group):
		return d.Mode>>3&bit != 0
	default:
		return d.Mode&bit != 0
	}
}

// id returns the number of a user or group, which have the same; -1 if only the machine knows it.
func (c *inspection) id(name string) int64 {
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

package render

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"kiln/manifests"
	"kiln/pki"
	"kiln/render/cloudinit"
	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/templates"
)

// unit adds one of our own units, with its text.
func (t *tree) unit(name string, enabled, started bool) {
	mode := uint32(0o644)
	if name == "kubelet.service" {
		mode = 0o600 // CIS 4.1.1
	}
	t.unitText(name, mode, templates.Unit(name), enabled, started)
}

// unitText adds a unit that was written for this machine.
func (t *tree) unitText(name string, mode uint32, text string, enabled, started bool, from ...string) {
	t.file(plan.UnitDir+"/"+name, mode, text, "systemd unit", from...)
	t.n.Units = append(t.n.Units, node.Unit{Name: name, Enabled: enabled, Started: started})
	if enabled {
		// An image that was booted before has a machine-id, and systemd then reads no presets: the link always counts.
		t.n.Links = append(t.n.Links, node.Link{Path: plan.UnitDir + "/" + wantedBy(name) + ".wants/" + name, Target: "../" + name})
	}
}

// wantedBy is the target that starts an enabled unit of ours.
func wantedBy(name string) string {
	if strings.HasSuffix(name, ".timer") {
		return "timers.target"
	}
	return "multi-user.target"
}

// hook adds the first-boot hook and its data: what it checks, where it looks, what it applies.
func (t *tree) hook() error {
	t.dir(plan.KilnDir, 0o700, "")
	t.file(templates.BootPath, 0o600, templates.Boot, "the first-boot hook")
	t.file(templates.ReportPath, 0o600, templates.Report, "what the hook does as sh /etc/kiln/boot report")
	lines, kinds, walled := t.checks()
	t.file(plan.KilnDir+"/machine", 0o600, t.machineData(walled), "what the hook knows of this machine")
	t.file(plan.KilnDir+"/checks", 0o600, lines, "preflight checks: id, severity, check, remedy")
	t.file(templates.StepsPath, 0o600, templates.Steps(t.steps(), kinds), "the hook's steps and checks on this machine")
	t.unit("kiln.service", true, true)
	if t.m.ControlPlane() {
		t.apiObjects()
	}
	return nil
}

// sumsShown stands for the list of hashes, which follows from the rest.
const sumsShown = "<sums of all files>"

// objectFile is the name of the i-th object's file.
func (r *Cluster) objectFile(i int) string {
	called, _, _ := r.called(r.Objects[i])
	return fmt.Sprintf("%03d-%s-%s.yaml", i, strings.ToLower(r.Objects[i].Kind), fileName(called))
}

// apiObjects adds what the API server is to hold, and the labels of the machine's own Node.
func (t *tree) apiObjects() {
	t.dir(path.Clean(plan.ObjectsDir), 0o700, "")
	var index strings.Builder
	var shown []string
	for i, o := range t.Objects {
		_, inAPI, secret := t.called(o)
		name := t.objectFile(i)
		fmt.Fprintf(&index, "%s\t%s\n", o.Path, name)
		shown = append(shown, name+" is "+inAPI)
		t.n.Files = append(t.n.Files, node.File{Path: plan.ObjectsDir + name, Mode: 0o600, Content: o.YAML, Secret: secret, Why: "API object"})
	}
	t.n.Files = append(t.n.Files, node.File{
		Path: plan.ObjectsDir + "index", Mode: 0o600, Content: []byte(index.String()), Shown: shown,
		Why: "the objects in the order in which they are applied: path in the API, file",
	})
	t.file(plan.KilnDir+"/node.yaml", 0o600, string(manifests.NodeLabels(t.m.Name)), "labels of this machine's Node that only an administrator may set")
}

// called returns what everybody may know of an object: a name, its path in the API and, if its content is a secret, what that
// is called. The name of a bootstrap token's Secret holds half of the token; it is called by the machine that joins with it.
func (r *Cluster) called(o manifests.Object) (name, path, secret string) {
	m := r.Joining[o.Name]
	switch {
	case !o.Secret:
		return o.Name, o.Path, ""
	case m == nil || o.Namespace != "kube-system":
		return o.Name, o.Path, "object " + o.Path
	}
	secret = r.Public.Mark(pki.TokenName(m))
	name = nodeTokenFile + m.Name
	if m.Pool {
		name = poolTokenFile + m.Name
	}
	return name, strings.TrimSuffix(o.Path, o.Name) + "bootstrap-token-<id of " + secret + ">", secret
}

// The Secret of a bootstrap token is in a file of this name, in front of the name of the pool or machine.
const (
	poolTokenFile = "bootstrap-token-"
	nodeTokenFile = "node-bootstrap-token-" // #nosec G101 -- the beginning of a file's name
)

// fileName makes an object's name fit for a file: RBAC names hold colons, and a file's name ends at 255 bytes. The number
// before it makes it unique.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, name[:min(len(name), 100)])
}

// machineData is what the hook knows of this machine, as shell assignments that are inert whatever the values hold.
func (t *tree) machineData(walled bool) string {
	p, m := t.Plan, t.m
	var b strings.Builder
	set := func(name string, values ...string) {
		fmt.Fprintf(&b, "%s=%s\n", name, shellWord(strings.Join(values, " ")))
	}
	set("node", m.NodeName())
	set("role", m.Role)
	set("cluster", t.Public.Cluster)
	set("steps", t.steps()...)
	set("step_timeout", seconds(time.Duration(p.Config.Spec.Boot.StepTimeout)))
	set("formation_deadline", epoch(t.Public.InstallEnd()))
	set("api", p.APIURL(m))
	member := ""
	if m.EtcdMember {
		member = m.Name
	}
	set("etcd_member", member)
	if m.EtcdMember {
		set("etcd_url", m.EtcdPeerURL())
		set("etcd_cluster", t.Public.EtcdCluster())
		set("etcd_deadline", t.etcdDeadline())
	}
	if t.backup() != nil {
		set("backup_directory", t.backup().Directory)
		set("backup_keep", strconv.Itoa(t.backup().Keep))
		set("backup_url", m.EtcdClientURL())
	}
	if t.restores() {
		set("etcd_snapshot", t.restore.snapshot)
		set("etcd_image", p.Images[plan.Etcd])
	}
	var peers []string
	for _, peer := range t.etcdPeers() {
		peers = append(peers, peer.Name+"="+peer.EtcdPeerURL()+","+peer.EtcdClientURL())
	}
	set("etcd_peers", peers...)
	pre, post := t.userHooks()
	set("kubelet", m.Settings.KubeletPath)
	set("pre_boot", pre...)
	set("post_boot", post...)
	set("swap", map[bool]string{true: "keep", false: "off"}[t.swapAllowed()])
	set("restart", t.restarts()...)
	set("marker", manifests.MarkerPath)
	set("retire", t.retired()...)
	set("wall", map[bool]string{true: "closed"}[walled])
	if roles := m.Roles(); len(roles) > 0 {
		set("roles", roles...)
	}
	if m.Pool {
		source := plan.NameSource{}
		if m.NameSource != nil {
			source = *m.NameSource
		}
		set("name_url", source.URL)
		set("name_header", source.Header)
		set("name_token", source.Token)
		set("name_short", map[bool]string{true: "yes"}[source.Short])
		set("node_address", m.NodeAddress...)
	}
	return b.String()
}

// steps are the hook's steps on this machine, in their order. The user's last scripts still have the install credential.
func (t *tree) steps() []string {
	pre, post := t.userHooks()
	s := []string{"files"}
	if len(pre) > 0 {
		s = append(s, "pre-boot")
	}
	s = append(s, "machine", "preflight")
	if t.m.Pool {
		s = append(s, "name")
	}
	s = append(s, t.etcdSteps()...)
	s = append(s, "kubelet")
	if len(t.etcdPeers()) > 0 {
		s = append(s, "member")
	}
	if t.m.ControlPlane() {
		s = append(s, "control-plane", "objects")
	}
	switch {
	case t.m.ControlPlane():
		s = append(s, "node", "labels")
	case t.m.Joins():
		s = append(s, "node")
	default:
		s = append(s, "ready")
	}
	if len(t.m.Roles()) > 0 {
		s = append(s, "role")
	}
	if len(post) > 0 {
		s = append(s, "post-boot")
	}
	return append(s, "retire")
}

// etcdPeers are the machines of the other members, if this one carries a member.
func (t *tree) etcdPeers() (out []*plan.Machine) {
	if !t.m.EtcdMember {
		return nil
	}
	for _, i := range t.Plan.EtcdMembers {
		if peer := &t.Plan.Machines[i]; peer.Name != t.m.Name {
			out = append(out, peer)
		}
	}
	return out
}

// swapAllowed says that the user lets the kubelet run on a machine with swap.
func (t *tree) swapAllowed() bool { return t.m.Settings.Kubelet["failSwapOn"] == false }

// restarts are the units that read what the document brought: before the first kubelet nothing runs that a restart
// could harm, and cloud-init writes its files when they have long been started.
func (t *tree) restarts() []string {
	out := []string{"systemd-modules-load.service", "systemd-sysctl.service", "containerd.service"}
	if t.n.File(templates.RoutesPath) != nil {
		out = append(out, "kiln-routes.service")
	}
	return out
}

// cloudInitCopies are what cloud-init keeps of the user-data, in plain, for root alone: what it was given, what it made of it,
// and the object that it reads in its later stages. At the next boot it asks for the user-data again; the hook removes them
// again. The folder of an instance is named for its instance-id.
var cloudInitCopies = []string{
	"/var/lib/cloud/instances/*/user-data.txt*", "/var/lib/cloud/instances/*/cloud-config.txt", "/var/lib/cloud/instances/*/obj.pkl",
	"/run/cloud-init/instance-data-sensitive.json", "/run/cloud-init/combined-cloud-config.json",
}

// retired are the paths and patterns that the hook removes at the end, and at each later start: the install credential, a
// bootstrap token, and the copies of the document that Ignition and cloud-init leave. admin.conf stays as a kubeconfig without
// a credential, since CIS 1.1.13 and 1.1.14 fail on machines that have none.
func (t *tree) retired() (out []string) {
	if t.m.ControlPlane() {
		crt, key := plan.Cert("install")
		out = append(out, crt, key)
	}
	if t.m.Token {
		out = append(out, plan.BootstrapConf)
	}
	if t.m.System.Format == plan.Ignition {
		return append(out, "/run/ignition.json")
	}
	// The same for every delivery: a machine is what it is, however it gets there.
	return slices.Concat(out, cloudinit.BodyFiles, cloudInitCopies)
}

func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }

func epoch(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// shellWord quotes a value for sh: nothing in it has a meaning.
func shellWord(value string) string {
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

// manifestHash is how many bytes of a file's SHA-256 the manifest holds. It finds damage, not an attacker, who could change
// the manifest as well; the whole sums would cost a control plane two kilobytes that nothing compresses.
const manifestHash = 6

// listedOwner is how the manifest says who owns a file: nearly all are root's, and a dash says so.
func listedOwner(user, group string) string {
	owner := node.Owner(user) + ":" + node.Owner(group)
	if owner == "root:root" {
		return "-"
	}
	return owner
}

// stale are the paths at which an earlier life of the machine's disk, or its image, may have left an identity that the kubelet
// would take for its own: one that asks for its certificate must have none.
func (t *tree) stale() []string {
	if !t.m.Token {
		return nil
	}
	return []string{plan.KubeletConf, plan.KubeletCurrent}
}

// verifiable fails if the first boot could not read a line of the list of files. Paths of cluster.yaml have been
// checked by then; those of a Butane snippet have not.
func (t *tree) verifiable() error {
	check := func(path string, words ...string) error {
		if problem := config.PathProblem(path); problem != "" {
			return fmt.Errorf("file %q %s", path, problem)
		}
		for _, word := range words {
			if word == "" || strings.ContainsFunc(word, unicode.IsSpace) || config.PathProblem(word) != "" {
				return fmt.Errorf("file %q: the owner or target %q is not one word", path, word)
			}
		}
		return nil
	}
	var wrong []error
	for _, d := range t.n.Dirs {
		wrong = append(wrong, check(d.Path, node.Owner(d.User), node.Owner(d.Group)))
	}
	for _, f := range t.n.Files {
		wrong = append(wrong, check(f.Path, node.Owner(f.User), node.Owner(f.Group)))
	}
	for _, l := range t.n.Links {
		wrong = append(wrong, check(l.Path, l.Target))
	}
	return errors.Join(wrong...)
}

// fileManifest adds the list of every file that must be there, with hash, mode and owner. The hook verifies it before
// anything else: a document cut off by a platform, or a power cut while files were written, is named and not started.
func (t *tree) fileManifest() error {
	t.n.Sort()
	if err := t.verifiable(); err != nil {
		return err
	}
	// The sums of secrets are computed from secrets, and the rest of it stands elsewhere.
	list := node.File{Path: plan.KilnDir + "/files", Mode: 0o600, Why: "every file that must be there", Shown: []string{sumsShown}}
	if t.Bundle == nil {
		t.n.Files = append(t.n.Files, list)
		return nil
	}
	var b strings.Builder
	for _, d := range t.n.Dirs {
		fmt.Fprintf(&b, "dir %04o %s %s\n", d.Mode, listedOwner(d.User, d.Group), d.Path)
	}
	for _, f := range t.n.Files {
		sum := sha256.Sum256(f.Content)
		fmt.Fprintf(&b, "%x %04o %s %s\n", sum[:manifestHash], f.Mode, listedOwner(f.User, f.Group), f.Path)
	}
	for _, path := range t.stale() {
		fmt.Fprintf(&b, "none - - %s\n", path)
	}
	for _, l := range t.n.Links {
		fmt.Fprintf(&b, "link %s - %s\n", l.Target, l.Path)
	}
	// The last line shows that the list itself is whole.
	b.WriteString("end\n")
	list.Content = []byte(b.String())
	t.n.Files = append(t.n.Files, list)
	return nil
}

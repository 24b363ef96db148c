package assembly

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/templates"
)

// addHook adds the first-boot hook and its data: the machine's facts, the preflight checks, the
// steps and, on a control plane, the API objects.
func (t *tree) addHook() error {
	t.addDir(plan.KilnDir, 0o700, "")
	lines, functions := t.checks()
	steps, holds := t.steps(), t.conditions()
	key := fmt.Sprint(steps, functions, holds)
	h := t.hooks.Of([]byte(key), func() *hook {
		h := &hook{[]byte(templates.Boot(holds)), []byte(templates.Report(holds)),
			[]byte(templates.Steps(holds, steps, functions)), map[string]bool{}}
		// That of snapshots reads variables too.
		all := slices.Concat(h.boot, h.report, h.steps, []byte(templates.Backup))
		for _, m := range variable.FindAllSubmatch(all, -1) {
			h.reads[string(m[1])] = true
		}
		return h
	})
	for _, f := range []struct {
		path    string
		content []byte
		why     string
	}{
		{templates.BootPath, h.boot, "the first-boot hook"},
		{templates.ReportPath, h.report, "what the hook does as sh /etc/kiln/boot report"},
		{templates.StepsPath, h.steps, "the hook's steps and checks on this machine"},
		{plan.KilnDir + "/checks", []byte(lines), "preflight checks: id, severity, check, remedy"},
		{plan.KilnDir + "/machine", []byte(t.machineData(h)),
			"what the hook knows of this machine"},
	} {
		t.n.Files = append(t.n.Files, node.File{
			Path: f.path, Mode: 0o600, Content: f.content, Why: f.why,
		})
	}
	t.n.Files = append(t.n.Files, AnnounceFiles(t.Plan, t.Public, t.Bundle, t.m)...)
	t.addUnit("kiln.service", true, true)
	if t.m.ControlPlane() {
		t.addObjects()
	}
	return nil
}

// conditions returns the conditions of lines of the hook that hold on this machine.
func (t *tree) conditions() (holds []string) {
	cloudInit := t.m.System.Format == target.CloudInit
	pre, _ := t.userScripts()
	for _, c := range []struct {
		name  string
		holds bool
	}{
		{templates.IfAnnounces, len(AnnounceFiles(t.Plan, t.Public, t.Bundle, t.m)) > 0},
		{templates.IfBacksUp, t.backup() != nil},
		{templates.IfCloudInit, cloudInit},
		{templates.IfControlPlane, t.m.ControlPlane()},
		{templates.IfWorker, t.m.Worker()},
		{templates.IfEtcd, !t.m.Joins()},
		{templates.IfCredential,
			t.m.Pool || t.m.ControlPlane() && t.Public.HasInstall(t.m.Name)},
		{templates.IfLoads, cloudInit || len(pre) > 0},
		{templates.IfSwapOff, !t.swapAllowed()},
		{templates.IfMember, t.m.EtcdMember},
		{templates.IfPeers, len(t.etcdPeers()) > 0},
		{templates.IfObjects, slices.Contains(t.steps(), "objects")},
		{templates.IfAsks, slices.ContainsFunc(t.Objects,
			func(o manifests.Object) bool { return o.Asked })},
		{templates.IfDefinitions, slices.ContainsFunc(t.Objects,
			func(o manifests.Object) bool { return o.Kind == "CustomResourceDefinition" })},
		{templates.IfIPv6, slices.ContainsFunc(t.m.Addresses, netip.Addr.Is6)},
		{templates.IfNamed, t.Plan.EndpointIsName && t.m.Worker() && !t.Plan.Balanced(t.m)},
		{templates.IfPool, t.m.Pool},
		{templates.IfRegistries, t.knowsRegistries()},
		{templates.IfLogins, len(t.m.Logins()) > 0},
		{templates.IfPulls, t.m.Settings.Preload == "registry"},
		{templates.IfArchive, !slices.Contains([]string{"", "registry"}, t.m.Settings.Preload)},
		{templates.IfMedium, t.m.Settings.Preload == "medium"},
	} {
		if c.holds {
			holds = append(holds, c.name)
		}
	}
	return holds
}

// machineData returns the role of this machine, for a reader, and the facts that the hook needs, as
// shell assignments. The values are quoted, so the shell expands nothing in them.
func (t *tree) machineData(h *hook) string {
	p, m := t.Plan, t.m
	var b strings.Builder
	set := func(name string, values ...string) {
		if h.reads[name] || name == "role" {
			value := strings.ReplaceAll(strings.Join(values, " "), "'", `'\''`)
			b.WriteString(name + "='" + value + "'\n")
		}
	}
	set("node", m.NodeName())
	set("role", m.Role)
	set("cluster", t.Public.Cluster)
	set("steps", t.steps()...)
	set("step_timeout", seconds(time.Duration(p.Config.Spec.Boot.StepTimeout)))
	end := t.Public.InstallEnd()
	if m.Pool {
		end = t.Public.TokenEnd(m)
	}
	set("credential_end", epoch(end))
	set("api", p.APIURL(m))
	if m.EtcdMember {
		set("etcd_member", m.Name)
		set("etcd_url", m.EtcdPeerURL())
		set("etcd_cluster", t.Public.EtcdCluster())
		deadline := epoch(t.Public.FormationDeadline)
		if t.Public.EtcdRuns() && !t.hasSnapshot() { // only a member with a snapshot may begin
			deadline = "0"
		}
		set("etcd_deadline", deadline)
	}
	if t.backup() != nil {
		set("backup_directory", t.backup().Directory)
		set("backup_keep", strconv.Itoa(t.backup().Keep))
		set("backup_url", m.EtcdHTTPURL())
	}
	if t.hasSnapshot() {
		set("etcd_snapshot", t.restore.snapshot)
		set("etcd_image", target.StoredImage(p.Images[target.Etcd]))
	}
	var peers []string
	for _, peer := range t.etcdPeers() {
		peers = append(peers, peer.Name+"="+peer.EtcdPeerURL()+","+peer.EtcdHTTPURL())
		// A member that kubeadm made answers HTTP on the port for clients.
		if t.Public.WasImported() {
			peers = append(peers, peer.Name+"="+peer.EtcdPeerURL()+","+peer.EtcdClientURL())
		}
	}
	set("etcd_peers", peers...)
	pre, post := t.userScripts()
	set("kubelet", m.Kubelet())
	if m.Extended() || m.Packaged() {
		set("kubelet_version", m.KubeletVersion)
	}
	set("pre_boot", pre...)
	set("post_boot", post...)
	set("preload", m.Settings.Preload)
	set("arch", m.Settings.Arch)
	set("restart", t.restartedUnits()...)
	set("marker", manifests.MarkerPath)
	set("retire", t.removedPaths()...)
	if m.Pool {
		source := target.NameSource{}
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

// steps returns the hook's steps on this machine, in their order. What is needed once is removed
// after them, so that the user's scripts after the boot can still use the install credential.
func (t *tree) steps() []string {
	pre, post := t.userScripts()
	s := []string{"files"}
	if len(pre) > 0 {
		s = append(s, "pre-boot")
	}
	s = append(s, "machine")
	if len(t.m.Artifacts) > 0 {
		s = append(s, "fetch")
	}
	if t.m.Extended() {
		s = append(s, "extend")
	}
	if t.m.Packaged() {
		s = append(s, "packages")
	}
	if t.m.Settings.Preload != "" {
		s = append(s, "preload")
	}
	s = append(s, "preflight")
	if t.m.Pool {
		s = append(s, "name")
	}
	s = append(s, t.etcdSteps()...)
	s = append(s, "kubelet")
	if len(t.etcdPeers()) > 0 {
		s = append(s, "member")
	}
	if t.m.ControlPlane() {
		if !t.Public.WasImported() { // it has objects of its own
			s = append(s, "objects")
		}
		s = append(s, "control-plane")
	}
	switch {
	case t.m.ControlPlane():
		s = append(s, "node", "labels")
	case t.m.Joins():
		s = append(s, "node")
	default:
		s = append(s, "ready")
	}
	// With cni none, a Node becomes Ready when somebody brings a network of pods.
	if t.m.Joins() && t.Plan.Flannel() {
		s = append(s, "network")
	}
	// Later than the policy that gives the roles, if possible.
	if len(t.m.Roles()) > 0 {
		s = append(s, "role")
	}
	if len(post) > 0 {
		s = append(s, "post-boot")
	}
	return s
}

// restartedUnits returns the units that the hook restarts: they read files of the document, and
// cloud-init writes the files long after the units have started. Before the first kubelet starts,
// no program runs that a restart could harm.
func (t *tree) restartedUnits() []string {
	out := []string{"systemd-modules-load.service", "systemd-sysctl.service"}
	if !t.m.Packaged() { // its package starts it
		out = append(out, "containerd.service")
	}
	if len(t.Plan.Forbidden(t.m)) > 0 {
		out = append(out, "kiln-wall.service")
	}
	return out
}

// cloudInitCopies lists the copies of the user-data that cloud-init keeps, in plain and readable
// for root alone: the input, the configuration made from it, and the object that later stages read.
// At the next boot cloud-init asks for the user-data again, and the hook removes them again. The
// folder of an instance is named for its instance-id.
var cloudInitCopies = []string{
	"/var/lib/cloud/instances/*/user-data.txt*",
	"/var/lib/cloud/instances/*/cloud-config.txt",
	"/var/lib/cloud/instances/*/obj.pkl",
	"/run/cloud-init/instance-data-sensitive.json",
	"/run/cloud-init/combined-cloud-config.json",
}

// removedPaths returns the paths and patterns that the hook removes at the end of the first boot
// and at each later start: the install credential, a bootstrap token, and the copies of the
// document that Ignition and cloud-init leave. admin.conf stays, as a kubeconfig without a
// credential, because CIS 1.1.13 and 1.1.14 fail on machines without it.
func (t *tree) removedPaths() (out []string) {
	if t.m.ControlPlane() && t.Public.HasInstall(t.m.Name) {
		crt, key := plan.Cert("install")
		out = append(out, crt, key)
	}
	if t.m.Pool {
		out = append(out, plan.BootstrapConf)
	}
	if t.m.System.Format == target.Ignition {
		return append(out, "/run/ignition.json")
	}
	// The files of a fetched body are removed on every machine, so that a machine's files do not
	// depend on the delivery of its document.
	return slices.Concat(out, node.BodyFiles, cloudInitCopies)
}

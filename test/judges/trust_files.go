package judges

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kiln.dev/kiln/test/judges/machine"
)

const manifestPath = "/etc/kiln/files"

// manifest: the list by which the first boot verifies the machine is whole and right.
func (t *trust) manifest() {
	f := t.at.File(manifestPath)
	if f == nil {
		t.find("%s: it is absent", manifestPath)
		return
	}
	list := lastLine.ReplaceAllString(string(f.Content), "\n")
	want, got := strings.Split(manifestOf(t.at), "\n"), strings.Split(list, "\n")
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.find("%s: it lacks %q", manifestPath, line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.find("%s: it has %q, which is not so", manifestPath, line)
		}
	}
	if !lastLine.Match(f.Content) {
		t.find("%s: its last line is not end with a digest", manifestPath)
	}
}

// lastLine has the digest of what a reviewer sees of the machine, and the states of roots.
var lastLine = regexp.MustCompile(`\nend [0-9a-f]{64}( [a-z-]+: g[^\n]*)?\n$`)

// manifestOf returns the list that a machine should have: directories, files except the list
// itself, and links, without its last line. Each part is sorted by path and has 32 bits of every
// file's SHA-256 and a dash for root:root. A machine that requests its certificate has none before;
// a certificate that an image left there is moved aside.
func manifestOf(m *Machine) string {
	var out strings.Builder
	owner := func(user, group string) string {
		if user == "root" && group == "root" {
			return "-"
		}
		return user + ":" + group
	}
	for _, d := range m.Dirs {
		fmt.Fprintf(&out, "dir %04o %s %s\n", d.Mode, owner(d.User, d.Group), d.Path)
	}
	for _, f := range m.Files {
		if f.Path != manifestPath {
			fmt.Fprintf(&out, "%.4x %04o %s %s\n", sha256.Sum256(f.Content), f.Mode,
				owner(f.User, f.Group), f.Path)
		}
	}
	if m.File("/etc/kubernetes/bootstrap-kubelet.conf") != nil {
		out.WriteString("none - - /etc/kubernetes/kubelet.conf\n" +
			"none - - /var/lib/kubelet/pki/kubelet-client-current.pem\n")
	}
	for _, l := range m.Links {
		fmt.Fprintf(&out, "link %s - %s\n", l.Target, l.Path)
	}
	return out.String()
}

// modes checks that files belong to users that exist, that nobody else can write them, and that
// only their owners can read secrets.
func (t *trust) modes() {
	users := map[string]bool{}
	for _, a := range t.at.Accounts() {
		users[a.Name] = true
	}
	for _, f := range slices.Concat(t.at.Dirs, t.at.Files) {
		if user, group := t.at.Owners(&f); !users[user] || !users[group] {
			t.find("%s: there is no user or group %s:%s", f.Path, user, group)
		}
		if f.Mode&^0o755 != 0 {
			t.find("%s: mode %04o is more than 0755", f.Path, f.Mode)
		}
		if holdsSecret(f.Content) && f.Mode != 0o600 {
			t.find("%s: mode %04o, but it holds a secret", f.Path, f.Mode)
		}
	}
	for _, dir := range []string{
		"/etc/kiln", "/etc/kubernetes/manifests", "/etc/kubernetes/apiserver",
		"/etc/kubernetes/pki",
		"/etc/etcd/pki", "/var/lib/etcd", "/var/lib/kubelet/pki", "/var/log/kubernetes",
	} {
		if d := t.at.Dir(dir); d != nil && d.Mode != 0o700 {
			t.find("%s: mode %04o, want 0700", d.Path, d.Mode)
		}
	}
}

// holdsSecret finds private keys, tokens and encryption keys.
func holdsSecret(content []byte) bool {
	return slices.ContainsFunc([]string{
		"PRIVATE KEY-----", "    token: ", "token-secret: ", "    secret: ",
	}, func(mark string) bool {
		return bytes.Contains(content, []byte(mark))
	})
}

// sysextUnit is systemd's own: it is in the image of every system that has extensions.
const sysextUnit = "/usr/lib/systemd/system/systemd-sysext.service"

// links: what a link leads to is there.
func (t *trust) links() {
	for _, l := range t.at.Links {
		if to := t.at.linkTarget(l.Path); t.at.see(to) == nil && to != sysextUnit {
			t.find("%s: %s, to which it leads, is absent", l.Path, to)
		}
	}
}

// units checks that the units that have to run start with the machine, also if the boot is driven
// by links alone, and that swap does not start.
func (t *trust) units() {
	const dir = "/etc/systemd/system/"
	list := []string{"kiln.service", "kubelet.service"}
	const drop = dir + "kubelet.service.d/20-kiln-wall.conf"
	if severity, found := t.wall(); found {
		list = append(list, "kiln-wall.service")
		if severity == "wait" && t.at.File(drop) == nil {
			t.find("%s: it is absent", drop)
		}
	}
	for _, unit := range list {
		if t.at.File(dir+unit) == nil {
			t.find("%s: it is absent", dir+unit)
		}
		if !t.at.Enabled(unit) || t.at.linkTarget(dir+"multi-user.target.wants/"+unit) != dir+unit {
			t.find("%s: it is not enabled", unit)
		}
	}
	swap := slices.ContainsFunc(t.at.Units,
		func(u Unit) bool { return u.Name == "swap.target" && u.Masked })
	if failing, ok := t.kubelet("failSwapOn"); !swap && (!ok || failing == "true") {
		t.find("swap.target: it is not masked, but the kubelet does not bear swap")
	}
}

// wall returns the severity of the check of the first boot that asks for the wall before the
// platform's metadata service, and reports whether there is such a check.
func (t *trust) wall() (severity string, found bool) {
	if f := t.at.File("/etc/kiln/checks"); f != nil {
		_, rest, ok := strings.Cut("\n"+string(f.Content), "\nmetadata-wall|")
		severity, _, _ = strings.Cut(rest, "|")
		return severity, ok
	}
	return "", false
}

// kubelet returns a field of the kubelet's configuration.
func (t *trust) kubelet(field string) (string, bool) {
	if f := t.at.File(kubeletConfig); f != nil {
		return machine.Field(f.Content, field)
	}
	return "", false
}

// kernelDefaults are the settings without which a kubelet with protectKernelDefaults does not start
// (setupKernelTunables in pkg/kubelet/cm, read at 1.36).
var kernelDefaults = map[string]string{
	"kernel.keys.root_maxbytes": "25000000",
	"kernel.keys.root_maxkeys":  "1000000",
	"kernel.panic":              "10",
	"kernel.panic_on_oops":      "1",
	"vm.overcommit_memory":      "1",
	"vm.panic_on_oom":           "0",
}

// kernel: the kernel is told what the kubelet and the pods' network need of it.
func (t *trust) kernel() {
	sysctls, modules := map[string]string{}, map[string]bool{}
	for _, f := range t.at.Under("/etc/sysctl.d") {
		for line := range strings.Lines(string(f.Content)) {
			if name, value, ok := strings.Cut(line, "="); ok {
				sysctls[strings.TrimSpace(name)] = strings.TrimSpace(value)
			}
		}
	}
	for _, f := range t.at.Under("/etc/modules-load.d") {
		for name := range strings.FieldsSeq(string(f.Content)) {
			modules[name] = true
		}
	}
	needed := map[string]string{}
	services := t.option(t.first(), "kube-apiserver", "service-cluster-ip-range")
	switch {
	case !t.at.Joins(): // no pods' network
	case strings.Contains(services, "."):
		needed["net.ipv4.ip_forward"] = "1"
	default:
		needed["net.ipv6.conf.all.forwarding"] = "1"
	}
	if protected, _ := t.kubelet("protectKernelDefaults"); protected == "true" {
		maps.Copy(needed, kernelDefaults)
	}
	for name, value := range needed {
		if sysctls[name] != value {
			t.find("/etc/sysctl.d: %s is %q, want %s", name, sysctls[name], value)
		}
	}
	for _, name := range []string{"br_netfilter", "overlay"} {
		if !modules[name] && (t.at.Joins() || name == "overlay") {
			t.find("/etc/modules-load.d: %s is not loaded", name)
		}
	}
}

// runtime: the kubelet asks the runtime that is set up, which manages cgroups as the kubelet does.
func (t *trust) runtime() {
	config := t.at.File("/etc/containerd/config.toml")
	if config == nil {
		return // the system's own
	}
	driver, _ := t.kubelet("cgroupDriver")
	systemd := bytes.Contains(config.Content, []byte("SystemdCgroup = true"))
	if systemd != (driver == "systemd") {
		t.find("%s: cgroupDriver is %s, but %s says SystemdCgroup: %t",
			kubeletConfig, driver, config.Path, systemd)
	}
	endpoint, _ := t.kubelet("containerRuntimeEndpoint")
	if endpoint != "unix:///run/containerd/containerd.sock" {
		t.find("%s: containerRuntimeEndpoint is %s, but the runtime is containerd",
			kubeletConfig, endpoint)
	}
}

// hook checks that the hook gets the facts of this machine and cluster, and removes the
// administrator's credential after use.
func (t *trust) hook() {
	own, first := hookData(t.at), hookData(t.first())
	config := t.at.File("/etc/kubernetes/kubelet.conf")
	if config == nil {
		config = t.at.File(bootstrapKubeconfig)
	}
	want := map[string]string{
		"role": t.at.Role, "cluster": first["cluster"], "api": readKubeconfig(config).server,
	}
	if own["node"] != "" || !t.at.WithToken() {
		want["node"] = t.at.Name
		name := t.at.File("/etc/hostname")
		if name == nil || strings.TrimSpace(string(name.Content)) != t.at.Name {
			t.find("/etc/hostname: it is not %s", t.at.Name)
		}
	}
	if t.commands[t.at]["etcd"] != nil {
		var peers []string
		for _, m := range t.members {
			if m != t.at {
				member := t.option(m, "etcd", "name") + "=" +
					t.option(m, "etcd", "initial-advertise-peer-urls") + ","
				peers = append(peers, member+t.option(m, "etcd", "listen-client-http-urls"))
				// In an imported cluster the hook also asks where members of kubeadm's answer.
				other := member + t.option(m, "etcd", "advertise-client-urls")
				if slices.Contains(strings.Fields(own["etcd_peers"]), other) {
					peers = append(peers, other)
				}
			}
		}
		if len(peers) > 0 { // a member that is the only one has nobody to tell it
			want["etcd_url"] = t.option(t.at, "etcd", "initial-advertise-peer-urls")
		}
		want["etcd_member"] = t.option(t.at, "etcd", "name")
		want["etcd_peers"] = strings.Join(peers, " ")
	}
	for name, value := range want {
		if own[name] != value {
			t.find("/etc/kiln/machine: %s is %q, want %q", name, own[name], value)
		}
	}
	admin := readKubeconfig(t.at.File("/etc/kubernetes/admin.conf"))
	for _, file := range []string{admin.key, admin.cert, t.at.bootstrap()} {
		if file != "" && !slices.Contains(strings.Fields(own["retire"]), file) {
			t.find("/etc/kiln/machine: %s stays after the first boot", file)
		}
	}
}

// bootstrap returns the path of the machine's bootstrap kubeconfig, or "".
func (m *Machine) bootstrap() string {
	if m.WithToken() {
		return bootstrapKubeconfig
	}
	return ""
}

// hookData returns the variables that the hook reads.
func hookData(m *Machine) map[string]string {
	out := map[string]string{}
	if f := m.File("/etc/kiln/machine"); f != nil {
		for line := range strings.Lines(string(f.Content)) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				out[name] = strings.Trim(value, "'")
			}
		}
	}
	return out
}

// readable checks that the files that the flags of a static pod name exist for the user of the pod.
// Root without capabilities is a user like any other.
func (t *trust) readable() {
	for _, w := range t.at.workloads() {
		if w.kind != "Pod" {
			continue
		}
		c := &w.spec.Containers[0]
		uid := 0
		if user := w.podSecurity().RunAsUser; user != nil {
			uid = int(*user)
		}
		for _, word := range append(c.Command, c.Args...) {
			_, file, _ := strings.Cut(word, "=")
			host := onHost(&w.spec, c, file)
			if host == "" {
				continue
			}
			if f := t.at.see(host); f != nil && !t.at.opens(f, uid, uid == 0 && !dropsAll(c)) {
				t.find("%s: %s cannot read %s as user %d", w.file, word, host, uid)
			}
		}
	}
}

// onHost returns where a path in a container lies on the machine, or "".
func onHost(spec *corev1.PodSpec, c *corev1.Container, file string) string {
	for _, mount := range c.VolumeMounts {
		below, ok := strings.CutPrefix(file, mount.MountPath)
		if !ok || below != "" && below[0] != '/' {
			continue
		}
		for _, v := range spec.Volumes {
			if v.Name == mount.Name && v.HostPath != nil {
				return path.Join(v.HostPath.Path, below)
			}
		}
	}
	return ""
}

// opens reports whether a user can read a file or directory. Everybody can read a file without an
// owner: the document says nothing about its mode.
func (m *Machine) opens(f *File, uid int, all bool) bool {
	if all || f.User == "" {
		return true
	}
	if m.UID(f.User) == uid {
		return f.Mode&0o400 != 0
	}
	return f.Mode&0o004 != 0
}

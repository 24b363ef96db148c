package assembly

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/templates"
)

// addSystem adds the settings that the operating system needs before a kubelet can run: name,
// kernel modules, sysctls and the container runtime's configuration. The hook applies them at the
// first boot, and systemd at every later one.
func (t *tree) addSystem() error {
	if !t.m.Pool {
		t.addFile("/etc/hostname", 0o644, t.m.Name+"\n", "the machine's name", t.m.Path+".name")
	}
	modules := strings.Join(t.Plan.KernelModules(t.m), "\n") + "\n"
	t.addFile("/etc/modules-load.d/90-kiln.conf", 0o644, modules,
		"kernel modules", t.m.Settings.Path("kernelModules"))
	var lines strings.Builder
	settings := t.sysctls()
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&lines, "%s = %s\n", key, settings[key])
	}
	fields := append(t.m.Settings.Paths("sysctlProfile"), t.m.Settings.Paths("sysctls")...)
	t.addFile("/etc/sysctl.d/90-kiln.conf", 0o644, lines.String(), "kernel settings", fields...)
	t.addContainerd()
	if !t.swapAllowed() {
		t.n.Units = append(t.n.Units, node.Unit{Name: "swap.target", Masked: true})
	}
	for _, dropIn := range t.m.System.Hides {
		dropIn = strings.ReplaceAll(dropIn, "{minor}", fmt.Sprint("1.", t.m.KubeletMinor))
		t.addFile(plan.UnitDir+"/"+dropIn, 0o644, templates.Hidden,
			"the kubelet is kiln's to start")
	}
	return nil
}

// addEnvironment adds what the machine is to know of its surroundings: time servers, time zone,
// host names, CAs, when it may update itself.
func (t *tree) addEnvironment() error {
	unit, fields := AddSystemFiles(t.m, t.n, t.Plan.Config.Text)
	if unit != "" {
		t.addUnitWith(target.SystemUnit, 0o644, unit, true, true, fields...)
	}
	return nil
}

// sysctls returns the kernel settings of the machine. The user's win over kiln's.
func (t *tree) sysctls() map[string]string {
	s := map[string]string{}
	if t.m.Joins() {
		s["net.bridge.bridge-nf-call-ip6tables"] = "1"
		s["net.bridge.bridge-nf-call-iptables"] = "1"
		for _, subnet := range t.Plan.PodSubnets {
			if subnet.Addr().Is4() {
				s["net.ipv4.ip_forward"] = "1"
			} else {
				s["net.ipv6.conf.all.forwarding"] = "1"
			}
		}
	}
	if t.Plan.Config.ProtectKernelDefaults(t.m.Settings) {
		maps.Copy(s, config.KernelDefaults)
	}
	if !t.m.Pool {
		// /etc/hostname has an effect at the next boot; this sets the name in the running kernel.
		s["kernel.hostname"] = t.m.Name
	}
	maps.Copy(s, config.SysctlProfiles[t.m.Settings.SysctlProfile])
	maps.Copy(s, t.m.Settings.Sysctls)
	return s
}

// resolvConf returns the path of the resolver configuration that the kubelet gives to pods: the
// user's setting, or else the system's path.
func (t *tree) resolvConf() string {
	set, _ := t.m.Settings.Kubelet["resolvConf"].(string)
	return cmp.Or(set, t.m.System.ResolvConf)
}

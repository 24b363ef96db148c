package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/templates"
)

// system adds what the operating system needs before a kubelet can run: name, kernel modules, kernel settings and the
// container runtime's configuration. The hook applies them at first boot; systemd does at every later one.
func (t *tree) system() error {
	if !t.m.Pool {
		t.file("/etc/hostname", 0o644, t.m.Name+"\n", "the machine's name", t.m.Path+".name")
	}
	t.file("/etc/modules-load.d/90-kiln.conf", 0o644, strings.Join(t.modules(), "\n")+"\n", "kernel modules", t.m.Settings.Path("kernelModules"))
	var lines strings.Builder
	settings := t.sysctls()
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&lines, "%s = %s\n", key, settings[key])
	}
	t.file("/etc/sysctl.d/90-kiln.conf", 0o644, lines.String(), "kernel settings", t.m.Settings.Paths("sysctls")...)
	t.containerd()
	if !t.swapAllowed() {
		t.n.Units = append(t.n.Units, node.Unit{Name: "swap.target", Masked: true})
	}
	if t.m.System.Extensions {
		t.file(plan.UnitDir+"/multi-user.target.d/10-kubelet-service.conf", 0o644, templates.Unit("multi-user.target.d/10-kubelet-service.conf"), "the kubelet is kiln's to start")
	}
	return nil
}

// logind adds the time that logind lets the kubelet hold up a shutdown, for its pods to end. The kubelet would otherwise write such a
// file itself, where nobody reviews it; with cloud-init, whose files come after logind has started, it does so until the next boot.
func (t *tree) logind(kubelet []byte) error {
	var c struct {
		ShutdownGracePeriod              metav1.Duration                              `json:"shutdownGracePeriod"`
		ShutdownGracePeriodByPodPriority []struct{ ShutdownGracePeriodSeconds int64 } `json:"shutdownGracePeriodByPodPriority"`
	}
	if err := yaml.Unmarshal(kubelet, &c); err != nil {
		return fmt.Errorf("%s: %w", plan.KubeletConfig, err)
	}
	period := c.ShutdownGracePeriod.Duration
	for _, class := range c.ShutdownGracePeriodByPodPriority {
		period += time.Duration(class.ShutdownGracePeriodSeconds) * time.Second
	}
	if period > 0 {
		t.file("/etc/systemd/logind.conf.d/90-kiln.conf", 0o644, fmt.Sprintf("[Login]\nInhibitDelayMaxSec=%s\n", seconds(period)), "time for pods to end at shutdown", t.m.Settings.Paths("kubelet")...)
	}
	return nil
}

// modules are the kernel modules that the machine needs: overlay for containers' file systems; for the pods' network
// br_netfilter, so that Services reach pods on the same bridge, and nf_conntrack, because kube-proxy sets its limits (kops#17915).
func (t *tree) modules() []string {
	own := []string{"overlay"}
	if t.m.Joins() {
		own = []string{"br_netfilter", "nf_conntrack", "overlay"}
	}
	return slices.Concat(own, t.m.Settings.KernelModules)
}

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
	if t.Plan.Config.ProtectKernelDefaults(&t.m.Settings) {
		maps.Copy(s, config.KernelDefaults)
	}
	if !t.m.Pool {
		// /etc/hostname counts from the next boot on; this sets the name in the running kernel.
		s["kernel.hostname"] = t.m.Name
	}
	maps.Copy(s, t.m.Settings.Sysctls)
	return s
}

// containerd adds the container runtime's configuration: the sandbox image of this cluster, systemd's cgroups, and the
// registries' mirrors. It is written in version 2, which containerd 1.7 needs and 2.x migrates on reading.
func (t *tree) containerd() {
	const cri = `plugins."io.containerd.grpc.v1.cri"`
	runc := cri + ".containerd.runtimes.runc"
	t.file(plan.ContainerdConfig, 0o644, strings.Join([]string{
		`version = 2`,
		`[` + cri + `]`,
		`sandbox_image = ` + tomlString(t.Plan.Images[plan.Pause]),
		`[` + cri + `.cni]`,
		`bin_dir = ` + tomlString(plan.CNIBinDir),
		`conf_dir = ` + tomlString(plan.CNIConfDir),
		`[` + cri + `.registry]`,
		`config_path = ` + tomlString(plan.RegistriesDir),
		`[` + runc + `]`,
		`runtime_type = "io.containerd.runc.v2"`,
		`[` + runc + `.options]`,
		`SystemdCgroup = true`,
	}, "\n")+"\n", "the container runtime's configuration", "images."+plan.Pause, "imageRepository")
	for _, r := range t.m.Settings.Registries {
		var lines strings.Builder
		for _, mirror := range r.Mirrors {
			fmt.Fprintf(&lines, "[host.%s]\ncapabilities = [\"pull\", \"resolve\"]\n", tomlString(mirror))
		}
		t.file(path.Join(plan.RegistriesDir, r.Host, "hosts.toml"), 0o644, lines.String(), "mirrors of "+r.Host, t.m.Settings.Path("registries"))
	}
	if t.m.System.ContainerdEnv {
		t.file(plan.UnitDir+"/containerd.service.d/10-kiln.conf", 0o644, templates.Unit("containerd.service.d/10-kiln.conf"), "points containerd at its configuration")
	}
	if variables := t.Plan.ProxyVariables(&t.m.Settings.Proxy); len(variables) > 0 {
		dropIn := "[Service]\n"
		for _, v := range variables {
			dropIn += "Environment=" + v.Name + "=" + v.Value + "\n"
		}
		t.file(plan.UnitDir+"/containerd.service.d/20-proxy.conf", 0o644, dropIn, "the proxy through which containerd pulls images", t.m.Settings.Path("proxy"))
	}
}

// resolvConf is the resolver configuration that the kubelet gives to pods, after the user's settings.
func (t *tree) resolvConf() string {
	set, _ := t.m.Settings.Kubelet["resolvConf"].(string)
	return cmp.Or(set, t.m.System.ResolvConf)
}

// tomlString writes a TOML basic string. JSON's escapes are among TOML's, which also wants the delete character escaped.
func tomlString(s string) string {
	out, err := json.Marshal(s)
	if err != nil {
		panic("render: a string cannot be encoded: " + err.Error())
	}
	return strings.ReplaceAll(string(out), "\x7f", `\u007f`)
}

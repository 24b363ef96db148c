package preflight

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/containerd"
	"kiln.dev/kiln/render/plan"
)

var programs = []Entry{
	{
		ID: "tool", Reads: "`PATH`", Severity: Stop,
		Wants: "cp, curl, flock, ip, losetup, mount; gzip, tar with `binaries.source: download`; " +
			"tar with `preload`",
		Remedy:  "install them",
		Kubeadm: []string{"FileExisting-…"}, Source: "kubeadm; the hook itself",
		list: "exist",
		calls: func(f *Facts) []call {
			tools := []string{"cp", "curl", "flock", "ip", "losetup", "mount"}
			if f.Machine.Downloads() {
				tools = append(tools, "gzip", "tar")
			} else if f.Machine.Settings.Preload != "" {
				tools = append(tools, "tar")
			}
			return each(tools...)
		},
	}, {
		ID: "runc", Reads: "`PATH`", Wants: "runc", Severity: Warn,
		Remedy: "install it", Source: "containerd's own archive is without it",
		calls: always("exist runc"),
	}, {
		ID: "selinux", Reads: "`/sys/fs/selinux/enforce`, the label of the kubelet's program",
		Wants:    "one that systemd may start, on " + systems(enforcing),
		Severity: Warn,
		Remedy: "run restorecon, or move it to /usr/local/bin: " +
			"systemd may not start what has this label",
		Source: "selinux-policy: what init_t may execute",
		calls: func(f *Facts) []call {
			return when(enforcing(f.Machine.System), "selinux_starts "+f.Machine.Kubelet())
		},
	}, {
		ID: "kubelet", Reads: "`kubelet --version`", Wants: "the minor version of `kubeletVersion`",
		Severity: Stop,
		Remedy:   "install this version, or set binaries, kubeletVersion or kubeletPath",
		Kubeadm:  []string{"KubeletVersion"}, Source: "kubeadm",
		calls: func(f *Facts) []call {
			program, minor := f.Machine.Kubelet(), f.Machine.KubeletMinor
			return one(fmt.Sprintf("has_word v1.%d %s --version", minor, program))
		},
	}, {
		ID: "kiln-system", Reads: "`" + target.SystemUnit + "`",
		Wants:    "it has run, with `timeZone` or `trustedCAsFrom`",
		Severity: Wait,
		Remedy:   "look at: journalctl -u " + target.SystemUnit,
		Source:   "containerd trusts no registry whose CA the system does not have",
		calls: func(f *Facts) []call {
			s := f.Machine.Settings
			return when(s.TimeZone != "" || len(s.TrustedCAsFrom) > 0,
				"equals "+active(target.SystemUnit))
		},
	}, {
		ID: "resolv-conf", Reads: "the kubelet's `resolvConf`", Wants: "it is there",
		Severity: Stop,
		Remedy:   "set kubelet.resolvConf to this system's",
		Source:   "the kubelet starts no pod without it",
		calls: func(f *Facts) []call {
			return when(word.MatchString(f.ResolvConf), "exist "+f.ResolvConf[1:])
		},
	}, {
		ID: "cni-plugins", Reads: "`/opt/cni/bin`",
		Wants:    "bridge, host-local, loopback, portmap, unless `network.cni` is `none`",
		Severity: Stop,
		Remedy:   "install them",
		Source:   "containerd.io: Step 3, installing CNI plugins",
		calls: func(f *Facts) []call {
			paths := strings.ReplaceAll(" "+strings.Join(f.Plugins, " "), " /", " ")
			return when(len(f.Plugins) > 0, "exist"+paths)
		},
	}, {
		ID: "runtime", Reads: "`" + plan.CRISocket + "`", Wants: "it is there", Severity: Wait,
		Remedy:  "install containerd; journalctl -u containerd",
		Kubeadm: []string{"CRI"}, Source: "kubeadm",
		calls: always("exist " + plan.CRISocket[1:]),
	}, {
		ID:    "images",
		Reads: "`ctr images ls`, then their manifests in the registry or its mirrors",
		Wants: "the images of sandbox and static pods are here, " +
			"or a registry has them or asks for a login",
		Severity: Wait,
		Remedy:   "ctr -n k8s.io images import it, or let containerd reach a registry with it",
		Kubeadm:  []string{"ImagePull"}, Source: "kubeadm, which pulls",
		calls: images,
	}, {
		ID: "etcd-external", Reads: "`/health` and `/version` of each endpoint",
		Wants: "an external etcd is healthy, of " + externalEtcd + " or later", Severity: Wait,
		Remedy:  "see that it runs and answers this machine, or upgrade it",
		Kubeadm: []string{"ExternalEtcdVersion"}, Source: "kubeadm",
		calls: func(f *Facts) []call {
			e := f.Plan.Config.Spec.ControlPlane.Etcd.External
			if e == nil || !f.Machine.ControlPlane() {
				return nil
			}
			return one("etcd_from " + externalEtcd + " " + strings.Join(e.Endpoints, " "))
		},
	},
}

// externalEtcd is the oldest etcd that kubeadm takes (constants.go, MinExternalEtcdVersion).
const externalEtcd = "3.5.24"

func enforcing(s *target.System) bool { return s.SELinux == target.Enforcing }

// word matches a path that can be the argument of a call.
var word = regexp.MustCompile(`^/[!-{}~]*$`)

// images returns one call for each list of registries, in the order of the images.
func images(f *Facts) (out []call) {
	at := map[string]int{}
	for _, ref := range f.Images {
		host, _, _ := target.ImageParts(ref)
		from := strings.Join(registries(host, f.Machine.Settings.Registries), ",")
		if _, ok := at[from]; !ok {
			at[from] = len(out)
			out = append(out, call{text: "images " + from})
		}
		out[at[from]].text += " " + target.StoredImage(ref)
	}
	return out
}

// registries returns the URLs at which containerd asks for the images of a host, in its order: the
// host's mirrors, or the default ones, then the host itself, unless the mirrors are the only ones
// (containerd's docs/hosts.md).
func registries(host string, settings []config.Registry) []string {
	var servers []string
	only := false
	if i := config.RegistryOf(settings, host); i >= 0 {
		servers, only = slices.Clone(settings[i].Mirrors), settings[i].MirrorsOnly
	}
	if !only {
		servers = append(servers, "https://"+target.RegistryServer(host))
	}
	for i, s := range servers {
		url, project := containerd.API(s)
		if project { // containerd asks there as it is (override_path)
			url = strings.TrimRight(s, "/") + "/"
		}
		servers[i] = url
	}
	return servers
}

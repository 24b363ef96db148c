package config

import (
	"path"
	"regexp"
	"strings"

	"kiln.dev/kiln/render/kube/flags"
	"kiln.dev/kiln/render/text/yamltext"
)

// machine checks the settings of one layer, each by itself. role is the role of the layer's
// machines, or layerAll. Method layers checks what follows from several layers together.
func (v *checker) machine(m *Machine, role string, at *yamltext.Location) {
	if m.fields() == 0 {
		return
	}
	if m.KubeletVersion != "" {
		v.kubeletVersion(m.KubeletVersion, at.Key("kubeletVersion"))
	}
	v.profile(&m.Profile, at.Key("profile"))
	v.binaries(&m.Binaries, at.Key("binaries"))
	v.kubeletPath(m.KubeletPath, at.Key("kubeletPath"))
	for i, key := range m.SSHAuthorizedKeys {
		if problem := SSHKeyProblem(key); problem != "" {
			v.report(at.Key("sshAuthorizedKeys").Index(i), "%s", problem)
		}
	}
	v.kubelet(m.Kubelet, at.Key("kubelet"))
	v.args(m.KubeletExtraArgs, ownFlags[flags.Kubelet], at.Key("kubeletExtraArgs"))
	v.labels(m.Labels, role, at.Key("labels"))
	if m.Taints != nil {
		v.taints(*m.Taints, at.Key("taints"))
	}
	v.files(m.Files, at.Key("files"))
	v.units(m.Units, at.Key("units"))
	v.sysctls(m.Sysctls, at.Key("sysctls"))
	v.kernelModules(m.KernelModules, at.Key("kernelModules"))
	v.limits(&m.Limits, at.Key("limits"))
	v.ntpServers(m.NTPServers, at.Key("ntpServers"))
	v.timeZone(m.TimeZone, at.Key("timeZone"))
	v.hostAliases(m.HostAliases, role, at.Key("hostAliases"))
	v.trustedCAs(m.TrustedCAsFrom, at.Key("trustedCAsFrom"))
	v.registries(m.Registries, at.Key("registries"))
	v.proxy(&m.Proxy, at.Key("proxy"))
	v.delivery(&m.Delivery, at.Key("delivery"))
	v.announcing(&m.Report, at.Key("report"))
	v.scripts(m.PreBoot, at, "preBoot")
	v.scripts(m.PostBoot, at, "postBoot")
	v.butane(m.Butane, at.Key("butane"))
	v.cloudConfig(m.CloudConfig, at.Key("cloudConfig"))
	v.networkConfig(m.NetworkConfig, at.Key("networkConfig"))
	v.ignorePreflight(m.IgnorePreflight, at.Key("ignorePreflight"))
}

// Patterns of a program, of the id of a check, and of names of the kernel.
var (
	kubeletPath = regexp.MustCompile(`^(/[A-Za-z0-9._+/-]+|[A-Za-z0-9_][A-Za-z0-9._+-]*)$`)
	checkID     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._:-]*[A-Za-z0-9])?$`)
	sysctlName  = regexp.MustCompile(`^[a-z0-9_-]+([./][A-Za-z0-9_:*-]+)+$`)
	moduleName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
)

func (v *checker) kubeletPath(p string, at *yamltext.Location) {
	unclean := strings.Contains(p, "/") && path.Clean(p) != p
	if p != "" && !kubeletPath.MatchString(p) || unclean {
		v.report(at, "%s is not a program; "+
			"write a plain name such as kubelet, or an absolute path such as /opt/bin/kubelet",
			quote(p))
	}
}

// ignorePreflight checks the ids of checks. Whether a machine has such a check is known later.
func (v *checker) ignorePreflight(ids []string, at *yamltext.Location) {
	seen := map[string]bool{}
	for i, id := range ids {
		switch {
		case len(id) > 128 || !checkID.MatchString(id):
			v.report(at.Index(i), "%s is not the id of a check; "+
				"write it as the first boot prints it, or as kubeadm calls it", quote(id))
		case seen[id]:
			v.report(at.Index(i), "%s is listed twice; remove one", quote(id))
		}
		seen[id] = true
	}
}

func (v *checker) kernelModules(names []string, at *yamltext.Location) {
	seen := map[string]int{}
	for i, name := range names {
		here := at.Index(i)
		// '-' and '_' are the same to the kernel in the names of modules.
		plain := strings.ReplaceAll(name, "-", "_")
		first, ok := seen[plain]
		switch {
		case !moduleName.MatchString(name):
			v.report(here, "%s is not a kernel module; write its name alone, such as br_netfilter",
				quote(name))
		case ok:
			v.report(here, "%s is already kernelModules[%d]; remove one", quote(name), first)
		default:
			seen[plain] = i
		}
	}
}

func (v *checker) registries(list []Registry, at *yamltext.Location) {
	seen := map[string]int{}
	for i, r := range list {
		here := at.Index(i)
		first, ok := seen[r.Host]
		name, _, _ := strings.Cut(r.Host, ":")
		switch {
		case r.Host != DefaultRegistry && (len(name) > maxHost || !hostPort.MatchString(r.Host)):
			v.report(here.Key("host"), "%s is not a registry's host; write it as images name it, "+
				"such as docker.io or registry.example.com:5000, or _default for all others",
				quote(r.Host))
		case !fitsPort(r.Host):
			v.report(here.Key("host"), "%s has a port above 65535; correct it", quote(r.Host))
		case r.Host == "index.docker.io" || r.Host == "registry-1.docker.io" ||
			r.Host == webOfDocker:
			// github.com/distribution/reference, normalize.go: splitDockerDomain
			v.report(here.Key("host"), "names of images have docker.io in place of %s, so nothing "+
				"would ask this mirror; write docker.io", r.Host)
		case ok:
			v.report(here.Key("host"), "%s is already registries[%d]; "+
				"put all mirrors of a host into one entry", quote(r.Host), first)
		default:
			seen[r.Host] = i
		}
		v.registryAccess(&r, here)
		for j, mirror := range r.Mirrors {
			if r.MirrorsOnly {
				v.early(mirror, here.Key("mirrors").Index(j))
			}
			if problem := urlProblem(mirror, "https", "http"); problem != "" {
				v.report(here.Key("mirrors").Index(j), "%s", problem)
			} else if !urlText.MatchString(mirror) {
				// The first boot checks mirrors. Its list of checks has them in one column,
				// separated by commas.
				v.report(here.Key("mirrors").Index(j), "%s has a character that URLs do not "+
					"have, or a comma; write it as %%20, %%2C and so on", quote(mirror))
			}
		}
	}
}

package check

import (
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// checkOverrides checks that no file of the user's takes away what the machine needs, because its
// program reads it after, or before, a file of kiln's.
func (c *inspection) checkOverrides() {
	for i := range c.node.Files {
		f := &c.node.Files[i]
		if f.Why != node.FromConfig {
			continue
		}
		switch path.Dir(f.Path) {
		case "/etc/modprobe.d":
			c.checkModules(f)
		case "/etc/cni/net.d":
			c.checkNetworkFirst(f)
		case "/etc/default", "/etc/default/grub.d", "/etc/kernel":
			c.checkArguments(f)
		}
		for j := range c.node.Files {
			if own := &c.node.Files[j]; own.Why != node.FromConfig && follows(f.Path, own.Path) {
				c.checkOverride(f, own)
			}
		}
	}
}

// follows reports whether a file's settings win over another's: it is a drop-in of it, or stands
// behind it in a folder of them. systemd adds up units, so they are left out.
func follows(file, other string) bool {
	dir, ext := path.Dir(file), path.Ext(other)
	inside := func(folder string) bool { return strings.HasPrefix(file, folder+"/") }
	return (inside("/etc/systemd") && !inside(plan.UnitDir) || inside("/etc/NetworkManager")) &&
		path.Ext(file) == ".conf" &&
		(dir == other+".d" || ext == ".conf" && dir == path.Dir(other) && file > other)
}

func (c *inspection) checkOverride(f, own *node.File) {
	theirs := unitSettings(string(f.Content))
	for _, s := range unitSettings(string(own.Content)) {
		i := slices.IndexFunc(theirs, func(t unitSetting) bool {
			return t.section == s.section && t.name == strings.TrimSuffix(s.name, "+")
		})
		if i >= 0 && theirs[i].value != s.value {
			c.failFile(f, fmt.Sprintf("replaces %s of %s (%s); remove the line, or call "+
				"the file so that it comes first", s.name, own.Path, own.Why))
		}
	}
}

// kernelArgument matches an argument in a file from which a boot loader takes those of the kernel.
var kernelArgument = regexp.MustCompile(
	`(?m)^[^#\n]*?(systemd\.(?:unified|legacy_systemd)_cgroup_\w+(?:=[^\s"']*)?)`)

func (c *inspection) checkArguments(f *node.File) {
	for _, m := range kernelArgument.FindAllStringSubmatch(string(f.Content), -1) {
		problem := target.RefusedArgument(m[1])
		if base := path.Base(f.Path); problem != "" && (base == "grub" || base == "cmdline" ||
			path.Base(path.Dir(f.Path)) == "grub.d") {
			c.failFile(f, problem)
		}
	}
}

// checkModules reports needed modules of the kernel that modprobe is told not to load.
func (c *inspection) checkModules(f *node.File) {
	needed := c.cluster.Plan.KernelModules(c.machine)
	for line := range strings.Lines(string(f.Content)) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "install" {
			continue
		}
		module := strings.ReplaceAll(words[1], "-", "_")
		if program := path.Base(words[2]); slices.Contains(needed, module) &&
			(program == "false" || program == "true") {
			c.failFile(f, fmt.Sprintf("keeps the module %s from being loaded, which the machine "+
				"needs; remove the line", module))
		}
	}
}

// checkResolver reports a resolver configuration that names the pod itself, in a flag, a patch or a
// file, or as systemd-resolved writes it. Package config checks the field.
func (c *inspection) checkResolver() {
	const resolved = "/run/systemd/resolve/resolv.conf"
	used := c.kubelet.Flag("resolv-conf")
	if used == "" && c.kubelet.ResolverConfig != nil {
		used = *c.kubelet.ResolverConfig
	}
	system := c.machine.System.ResolvConf
	if slices.Contains(config.Stubs, used) || used == "/etc/resolv.conf" && system != used {
		c.fail("the kubelet has %s for pods, whose name server 127.0.0.53 is in a pod the pod "+
			"itself; write kubelet.resolvConf: %s", used, system)
	}
	for i := range c.node.Files {
		f := &c.node.Files[i]
		key := ""
		switch {
		case f.Path == used:
			key = "nameserver "
		case used == resolved && (f.Path == "/etc/systemd/resolved.conf" ||
			path.Dir(f.Path) == "/etc/systemd/resolved.conf.d"):
			key = "DNS="
		default:
			continue
		}
		for line := range strings.Lines(string(f.Content)) {
			servers, is := strings.CutPrefix(strings.TrimSpace(line), key)
			for _, server := range strings.Fields(servers) {
				if a, err := netip.ParseAddr(server); is && err == nil && a.IsLoopback() {
					c.failFile(f, server+" is in a pod the pod itself, so that CoreDNS would ask "+
						"itself; write the address of a name server")
				}
			}
		}
	}
}

// checkNetworkFirst reports a network of pods that containerd finds before Flannel's.
func (c *inspection) checkNetworkFirst(f *node.File) {
	const flannel = "10-flannel.conflist"
	name := path.Base(f.Path)
	isNetwork := slices.Contains([]string{".conf", ".conflist", ".json"}, path.Ext(name))
	if c.cluster.Plan.Config.Spec.Network.CNI == "flannel" && isNetwork && name < flannel {
		c.failFile(f, "stands before "+flannel+", and containerd takes the first network alone, "+
			"so that pods are in this one; call it 90-…, or write network.cni: none")
	}
}

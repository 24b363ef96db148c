package config

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// sysctlRoots are the first parts of the names of kernel settings, below /proc/sys. Modules of
// other makers may add more.
var sysctlRoots = []string{
	"abi", "crypto", "debug", "dev", "fs", "fscache", "kernel", "lnet", "net", "sunrpc", "user",
	"vm", "xen",
}

func (v *checker) sysctls(settings map[string]string, at *yamltext.Location) {
	for name, value := range settings {
		here := at.Key(name)
		dotted := strings.ReplaceAll(name, "/", ".")
		root, _, _ := strings.Cut(dotted, ".")
		switch {
		case !sysctlName.MatchString(name) || len(name) > 255 || strings.Contains(name, ".."):
			v.report(here, "%s is not a kernel setting; write it like net.core.somaxconn",
				quote(name))
		case value == "" || hasControl(value):
			v.report(here, "%s is not a value; write one line that is not empty", quote(value))
		case dotted == "kernel.hostname":
			v.report(here, "names the machine, and the name of a machine is in nodes or pools; "+
				"remove it")
		case !slices.Contains(sysctlRoots, root) && wording.Nearest(root, sysctlRoots) != "":
			v.report(here, "the kernel has no settings below %s; did you mean %q?", quote(root),
				wording.Nearest(root, sysctlRoots)+strings.TrimPrefix(name, root))
		}
	}
}

// neededSysctls are the kernel settings without which a machine with pods does not work: the value
// that must not be there, or, for a number, the least or the most that may.
var neededSysctls = []neededSysctl{
	{"net.ipv4.ip_forward", "0", (*Cluster).hasPods4, noPackets},
	{"net.ipv4.conf.all.forwarding", "0", (*Cluster).hasPods4, noPackets},
	{"net.ipv6.conf.all.forwarding", "0", (*Cluster).hasPods6, noPackets},
	{"net.ipv6.conf.all.disable_ipv6", "1", (*Cluster).hasPods6, noIPv6},
	{"net.bridge.bridge-nf-call-iptables", "0", (*Cluster).bridges, noServices},
	{"net.bridge.bridge-nf-call-ip6tables", "0", (*Cluster).bridges6, noServices},
	{"fs.file-max", "<65536", always, "the programs of the machine run out of open files"},
	{"fs.nr_open", "<65536", always, "containerd and the kubelet cannot open the files they need"},
	{"fs.inotify.max_user_instances", "<64", always, noWatches},
	{"fs.inotify.max_user_watches", "<1024", always, noWatches},
	{"kernel.pid_max", "<4096", always, "the machine runs out of processes"},
	{"kernel.threads-max", "<4096", always, "the machine runs out of threads"},
	// More than 64 TiB in pages of 2 MiB, and 64 GiB in KiB: these were meant to be bytes.
	{"vm.nr_hugepages", ">33554431", always, "all memory goes into huge pages (it counts them)"},
	{"vm.min_free_kbytes", ">67108863", always, "programs get no memory (it counts KiB)"},
}

// Why several of the settings are needed.
const (
	noPackets  = "the kernel forwards no packets of pods"
	noIPv6     = "the machine and its pods have no IPv6 addresses"
	noServices = "kube-proxy sees no packets between pods of one machine, and Services fail there"
	noWatches  = "the kubelet and systemd cannot watch their files"
)

// neededSysctl is a kernel setting, the values that break a machine (one, or all below a number
// after <, or above one after >), and which clusters they break.
type neededSysctl struct {
	name, wrong string
	needed      func(c *Cluster) bool
	why         string
}

func always(*Cluster) bool { return true }

// breaks reports whether the machines of a cluster do not work with a value.
func (s *neededSysctl) breaks(c *Cluster, value string) bool {
	value = strings.TrimSpace(value)
	if bound, err := strconv.ParseUint(s.wrong[1:], 10, 64); err == nil {
		n, err := strconv.ParseUint(value, 10, 64)
		return err == nil && (s.wrong[0] == '<' && n < bound || s.wrong[0] == '>' && n > bound) &&
			s.needed(c)
	}
	return value == s.wrong && s.needed(c)
}

func (c *Cluster) hasPods4() bool { return c.hasPods(true) }

func (c *Cluster) hasPods6() bool { return c.hasPods(false) }

func (c *Cluster) hasPods(is4 bool) bool {
	for _, p := range c.values.PodSubnets {
		if p.IsValid() && p.Addr().Is4() == is4 {
			return true
		}
	}
	return false
}

func (c *Cluster) bridges6() bool { return c.bridges() && c.hasPods6() }

func (c *Cluster) bridges() bool {
	return c.Spec.Network.CNI != "none" && c.Spec.Network.Proxy != "none"
}

// podSysctls checks that the kernel settings of a machine with pods do not cut these off.
func (v *checker) podSysctls(m settings) {
	for i, f := range m.Files {
		v.sysctlFile(m, i, &f)
	}
	for _, s := range neededSysctls {
		for _, name := range []string{s.name, strings.ReplaceAll(s.name, ".", "/")} {
			set, ok := m.Sysctls[name]
			if ok && s.breaks(v.c, set) {
				v.reportKey(m, []string{"sysctls", name}, "with %s %s; remove it",
					quote(set), s.why)
			}
		}
	}
}

// sysctlFile checks a file of kernel settings that is read after kiln's own, 90-kiln.conf.
func (v *checker) sysctlFile(m settings, i int, f *File) {
	dir, base := path.Split(f.Path)
	if dir != "/etc/sysctl.d/" || base <= "90-kiln.conf" {
		return
	}
	content := cmp.Or(f.Content, string(v.c.Text(f.ContentFrom)))
	for line := range strings.Lines(content) {
		name, value, ok := strings.Cut(strings.TrimLeft(strings.TrimSpace(line), "-"), "=")
		name = strings.ReplaceAll(strings.TrimSpace(name), "/", ".")
		for _, s := range neededSysctls {
			if ok && name == s.name && s.breaks(v.c, value) {
				v.reportOnce(v.layerAt(m, layerOf(m, "files")).Key("files").Index(i), "%s: with "+
					"%s = %s %s; remove the line", f.Path, name, strings.TrimSpace(value), s.why)
			}
		}
		want, is := KernelDefaults[name]
		if ok && is && strings.TrimSpace(value) != want && v.c.ProtectKernelDefaults(m.Effective) {
			v.reportOnce(v.layerAt(m, layerOf(m, "files")).Key("files").Index(i), "%s: with %s = "+
				"%s the kubelet does not start, it wants %s; remove the line, or set "+
				"kubelet.protectKernelDefaults: false", f.Path, name, strings.TrimSpace(value),
				want)
		}
	}
}

// Bounds of limits.
const (
	minNoFile = 1024    // systemd's own soft limit
	maxNoFile = 1 << 20 // fs.nr_open of the kernel; Debian and Ubuntu keep it
	// minMemLock is systemd's default. /etc/security/limits.conf counts in KiB, so a number from
	// there is less.
	minMemLock = 8 << 20
	unlimited  = 1<<63 - 1
)

// memory matches an amount of memory as systemd reads it (systemd.exec(5)).
var memory = regexp.MustCompile(`^([1-9][0-9]{0,14})([KMGT]?)$`)

func (v *checker) limits(l *Limits, at *yamltext.Location) {
	v.limit(l.NoFile, at.Key("nofile"), func(text string) (n int64, problem string) {
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case text == "infinity":
			return 0, "infinity is a thousand million files on most systems, and programs that " +
				"close every possible one hang (containerd#8924); write 1048576, the most"
		case err != nil || text != strconv.FormatInt(n, 10):
			return 0, quote(text) + " is not a number of files; write a number such as 1048576, " +
				"or two such as 65536:1048576"
		case n < minNoFile || n > maxNoFile:
			return 0, text + " is not between 1024, which every process has anyway, and 1048576, " +
				"the most that stock kernels allow (fs.nr_open); correct it"
		}
		return n, ""
	})
	v.limit(l.MemLock, at.Key("memlock"), func(text string) (n int64, problem string) {
		m := memory.FindStringSubmatch(text)
		if text == "infinity" {
			return unlimited, ""
		} else if m == nil {
			return 0, quote(text) + " is not an amount of memory; write bytes, a number such as " +
				"64M or 1G, or infinity"
		}
		n, _ = strconv.ParseInt(m[1], 10, 64)
		shift := 10 * (strings.Index("KMGT", m[2]) + 1)
		if m[2] == "" {
			shift = 0
		}
		if n > unlimited>>shift {
			return 0, text + " is more than a processor can count; write infinity"
		}
		if n <<= shift; n < minMemLock {
			return 0, text + " is less than the 8M that every process has anyway; write bytes, " +
				"not KiB as in limits.conf, or a number with M or G"
		}
		return n, ""
	})
}

// limit checks one limit, or a soft and a hard one, which read reads.
func (v *checker) limit(
	text string, at *yamltext.Location, read func(string) (n int64, problem string),
) {
	if text == "" {
		return
	}
	soft, hard, two := strings.Cut(text, ":")
	least, problem := read(soft)
	if most := least; problem == "" && two {
		if most, problem = read(hard); problem == "" && most < least {
			problem = "begins with " + soft + " and may not go beyond " + hard +
				", which is less; write the smaller one first"
		}
	}
	if problem != "" {
		v.report(at, "%s", problem)
	}
}

package check

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// programUnits are the services that start pods: what a drop-in takes from them, pods miss.
var programUnits = []string{"kubelet.service", "containerd.service"}

// harmful are settings of a drop-in with which one of these services, or the named one, does not
// start, or starts no pod (systemd.exec(5), systemd.service(5), systemd.resource-control(5)).
var harmful = []struct {
	unit, names string // names of settings, with blanks between them
	wrong       func(value string) bool
	why         string
}{
	{
		"kubelet.service",
		"PrivateMounts PrivateTmp PrivateDevices ProtectControlGroups ProtectKernelTunables",
		isOn, "what it mounts for pods stays hidden from containerd",
	},
	{"", "PrivateNetwork PrivateUsers", isOn, "it no longer has the machine's network and users"},
	{
		"", "ProtectSystem", func(v string) bool { return v == "strict" },
		"it cannot write where it has to",
	},
	{
		"", "ReadOnlyPaths InaccessiblePaths TemporaryFileSystem",
		regexp.MustCompile(`(^|\s)[-+]*/((var(/lib)?|run|sys|proc)/?)?([\s:]|$)`).MatchString,
		"it cannot write where it has to",
	},
	{
		"", "User", func(v string) bool { return v != "" && v != "root" && v != "0" },
		"only root starts pods",
	},
	{"", "DynamicUser", isOn, "only root starts pods"},
	{
		"", "CapabilityBoundingSet",
		func(v string) bool { return v != "" && v[0] != '~' && !strings.Contains(v, "SYS_ADMIN") },
		"it cannot do what pods need",
	},
	{
		"", "RuntimeMaxSec", func(v string) bool { return v != "" && v != "infinity" },
		"systemd ends it after that time",
	},
	{"", "TasksMax LimitNPROC", isBelow(100), "it runs out of threads"},
	{"", "LimitNOFILE", isBelow(1024), "it runs out of open files"},
	{"", "MemoryMax MemoryHigh", isBelow(64 << 20), "it has too little memory to start"},
	{
		"", "Requires BindsTo Requisite",
		regexp.MustCompile(`\bdocker\.(service|socket)\b`).MatchString,
		"it waits for docker, which kiln does not install",
	},
}

func isOn(value string) bool {
	on, err := strconv.ParseBool(value)
	return err == nil && on || value == "yes" || value == "on" || value == "disconnected"
}

// sizeUnits are the suffixes of sizes in units of systemd, to the base of 1024.
var sizeUnits = []string{"", "K", "M", "G", "T"}

// isBelow returns a function that reports whether a number, or a size, is below the least one.
func isBelow(least float64) func(string) bool {
	return func(value string) bool {
		soft, _, _ := strings.Cut(value, ":")
		digits := strings.TrimRight(soft, "KMGT")
		n, err := strconv.ParseFloat(digits, 64)
		power := slices.Index(sizeUnits, soft[len(digits):])
		for range max(power, 0) {
			n *= 1024
		}
		return err == nil && power >= 0 && n < least
	}
}

// kubeadmFolders are where kubeadm's packages and kubeadm have files of the kubelet's environment.
var kubeadmFolders = []string{"/etc/default", "/etc/sysconfig", plan.KubeletDir}

func (c *inspection) checkDropIn(f *node.File) {
	unit := strings.TrimSuffix(path.Base(path.Dir(f.Path)), ".d")
	if f.Why != node.FromConfig || path.Dir(path.Dir(f.Path)) != plan.UnitDir ||
		!slices.Contains(programUnits, unit) {
		return
	}
	set := unitSettings(string(f.Content))
	for _, s := range set {
		for _, h := range harmful {
			named := slices.Contains(strings.Fields(h.names), s.name)
			if named && (h.unit == "" || h.unit == unit) && h.wrong(s.value) {
				c.failFile(f, "with "+s.name+" as it is here "+unit+" starts no pods: "+h.why+
					"; remove the line")
			}
		}
		// A path with a dash before it may be missing. Others may be the image's.
		isIn := func(folder string) bool { return machine.LiesIn(s.value, folder) }
		if s.name == "EnvironmentFile" && slices.ContainsFunc(kubeadmFolders, isIn) &&
			c.tree.File(s.value) == nil {
			c.failFile(f, "names a file of the environment that the document does not bring, and "+
				unit+" does not start without it; write EnvironmentFile=-"+s.value)
		}
	}
	first := slices.IndexFunc(set, func(s unitSetting) bool { return s.name == "ExecStart" })
	if first >= 0 && set[first].value != "" && unit == "containerd.service" {
		c.failFile(f, "adds a second ExecStart, with which systemd refuses the service; write a "+
			"line ExecStart= without a value before it")
	}
}

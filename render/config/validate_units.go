package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

// maxUnitLine is the most bytes in a line of a unit. systemd takes more. The parser of go-systemd,
// with which Ignition checks units, does not (go-systemd v22.5.0, SYSTEMD_LINE_MAX).
const maxUnitLine = 2048

// kubeletUnit is the kubelet's unit. A user may add drop-ins to it.
const kubeletUnit = "kubelet.service"

// ownUnits are units of kiln's whose names no user may take, on any machine. Package assembly
// refuses those that kiln writes on this machine alone.
var ownUnits = []string{
	kubeletUnit, "kiln.service", "kiln-wall.service", target.SystemUnit,
}

// unitSuffixes are the kinds of units that files or drop-ins configure (systemd.unit(5)).
var unitSuffixes = []string{
	"service", "socket", "mount", "automount", "swap", "target", "path", "timer", "slice", "device",
	"scope",
}

// Names of units and drop-ins, and lines of a unit.
var (
	unitName   = regexp.MustCompile(`^(?:[A-Za-z0-9:_.@-]|\\x[0-9a-f]{2})+$`)
	dropInName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9:_.@-]*\.conf$`)
	iniSection = regexp.MustCompile(`^\[[A-Za-z0-9-]+\]$`)
	iniKey     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*$`)
	installed  = regexp.MustCompile(`(?m)^\[Install\][ \t]*$`)
)

func (v *checker) units(units []Unit, at *yamltext.Location) {
	seen := map[string]int{}
	for i, u := range units {
		here := at.Index(i)
		if problem := unitNameProblem(u.Name); problem != "" {
			v.report(here.Key("name"), "%s %s", quote(u.Name), problem)
		} else if first, ok := seen[u.Name]; ok {
			v.report(here.Key("name"), "%s is already units[%d]; "+
				"write all of its settings into one entry", quote(u.Name), first)
		} else {
			seen[u.Name] = i
		}
		v.unit(&u, here)
		v.restart(u.Restart, here.Key("restart"))
		v.dropIns(&u, here.Key("dropIns"))
	}
}

func (v *checker) restart(units []string, at *yamltext.Location) {
	for i, name := range units {
		suffix := name[strings.LastIndex(name, ".")+1:]
		switch {
		case !unitName.MatchString(name) || strings.HasPrefix(name, "-") || suffix == "target" ||
			!slices.Contains(unitSuffixes, suffix):
			v.report(at.Index(i), "%s is no unit that can start again; write its whole name, such "+
				"as rsyslog.service", quote(name))
		case slices.Contains(ownUnits, name) || strings.HasPrefix(name, "kiln-") ||
			name == "containerd.service":
			v.report(at.Index(i), "%s is kiln's own; kiln apply starts it when it has to",
				quote(name))
		}
	}
}

func (v *checker) unit(u *Unit, at *yamltext.Location) {
	hasContent := u.Content != "" || u.ContentFrom != "" ||
		v.has(at.Key("content")) || v.has(at.Key("contentFrom"))
	if u.Name == kubeletUnit && (hasContent || u.Enabled || u.Masked) {
		v.report(at, "kubelet.service is kiln's; write dropIns alone, or the fields of kubelet")
		return
	}
	if u.Enabled && u.Masked {
		v.report(at.Key("masked"), "a unit cannot be both enabled and masked; remove one")
	}
	if u.Masked && hasContent {
		v.report(at.Key("masked"), "a masked unit has no content; remove masked or the content")
	}
	if u.Masked && u.Name == "containerd.service" {
		v.report(at.Key("masked"), "without containerd no pod starts; remove the unit here")
	}
	if !hasContent && !u.Enabled && !u.Masked && len(u.DropIns) == 0 {
		v.report(at, "says nothing about the unit; "+
			"write content, contentFrom, dropIns, enabled: true or masked: true")
	}
	if hasContent && v.oneSource(u.Content, u.ContentFrom, "content", "contentFrom", at) {
		v.unitContent(u, at)
	}
}

// maskedUnits checks that a machine keeps the program that configures its interfaces, on a system
// that has no other, and the one that writes what pods get as resolv.conf.
func (v *checker) maskedUnits(m settings) {
	system, why := m.system(), map[string]string{}
	if m.ignition() {
		why[system.Network] = "the machine has no network"
	}
	ownResolver := m.Profile.ResolvConf + m.Source["kubelet.resolvConf"]
	if system.ResolvConf == resolvedFile && ownResolver == "" {
		why["systemd-resolved.service"] = "nothing writes " + resolvedFile + ", which pods get"
	}
	for i, u := range m.Units {
		if u.Masked && why[u.Name] != "" {
			at := v.layerAt(m, layerOf(m, "units")).Key("units").Index(i).Key("masked")
			v.reportOnce(at, "without it %s; remove the unit here", why[u.Name])
		}
	}
}

func (v *checker) dropIns(u *Unit, at *yamltext.Location) {
	seen := map[string]int{}
	for i, d := range u.DropIns {
		here := at.Index(i)
		first, ok := seen[d.Name]
		switch {
		case !dropInName.MatchString(d.Name) || len(d.Name) > maxName:
			v.report(here.Key("name"), "%s is not a drop-in's file name; "+
				"write letters, digits, '-' and '_', and .conf at the end, such as 10-proxy.conf",
				quote(d.Name))
		case ok:
			v.report(here.Key("name"), "%s is already dropIns[%d]; remove one",
				quote(d.Name), first)
		case ownPath("/etc/systemd/system/" + u.Name + ".d/" + d.Name):
			v.report(here.Key("name"), "%s is written by kiln; choose another name", quote(d.Name))
		}
		seen[d.Name] = i
		if problem := unitProblem(d.Content); problem != "" {
			v.report(here.Key("content"), "%s", problem)
		}
		start := firstStart.FindStringSubmatch(d.Content)
		if u.Name == "containerd.service" && start != nil && strings.TrimSpace(start[1]) != "" {
			v.report(here.Key("content"), "adds a second ExecStart, with which systemd refuses "+
				"the service; write a line ExecStart= without a value before it")
		}
	}
}

var firstStart = regexp.MustCompile(`(?m)^[ \t]*ExecStart[ \t]*=(.*)$`)

func (v *checker) unitContent(u *Unit, at *yamltext.Location) {
	content, here := u.Content, at.Key("content")
	if u.ContentFrom != "" {
		content, here = string(v.c.Text(u.ContentFrom)), at.Key("contentFrom")
		if v.isHidden(here) {
			return
		}
	}
	if problem := unitProblem(content); problem != "" {
		v.report(here, "%s", problem)
	} else if u.Enabled && !installed.MatchString(content) {
		v.report(at.Key("enabled"), "the unit has no [Install] section, so nothing would start "+
			"it; add one with WantedBy=multi-user.target")
	}
}

func unitNameProblem(name string) string {
	dot := strings.LastIndexByte(name, '.')
	switch {
	case len(name) > maxName:
		return "is longer than 255 bytes"
	case dot < 1 || !slices.Contains(unitSuffixes, name[dot+1:]):
		return "does not end in a kind of unit; write one of ." + strings.Join(unitSuffixes, ", .")
	case !unitName.MatchString(name):
		return "has characters that unit names do not have; " +
			`write letters, digits and ":-_.@", others escaped as systemd-escape does (\x20)`
	case slices.Contains(ownUnits, name) && name != kubeletUnit:
		return "is written by kiln; use the fields of cluster.yaml or a patch instead"
	}
	return ""
}

// unitProblem judges units and drop-ins by the rules of systemd.syntax(7).
func unitProblem(text string) string {
	inSection, continued, settings := false, false, 0
	for i, line := range strings.Split(text, "\n") {
		number := i + 1
		if len(line) > maxUnitLine {
			return fmt.Sprintf("line %d of the unit has %d bytes; at most %d",
				number, len(line), maxUnitLine)
		}
		line = strings.TrimSpace(line)
		comment := line == "" || line[0] == '#' || line[0] == ';'
		wasContinued := continued
		continued = strings.HasSuffix(line, `\`) && !comment ||
			wasContinued && comment && line != "" // a comment does not end a continued line
		switch {
		case comment || wasContinued:
		case line[0] == '[':
			if !iniSection.MatchString(line) {
				return fmt.Sprintf("line %d of the unit is not a section; write it like [Service]",
					number)
			}
			inSection = true
		case !inSection:
			return fmt.Sprintf("line %d of the unit is before the first section; "+
				"begin with one such as [Unit] or [Service]", number)
		default:
			key, _, ok := strings.Cut(line, "=")
			if !ok || !iniKey.MatchString(strings.TrimSpace(key)) {
				return fmt.Sprintf("line %d of the unit is not a setting; write it like Key=value",
					number)
			}
			settings++
		}
	}
	if settings == 0 {
		return "has no setting; write at least a section and one Key=value line"
	}
	return ""
}

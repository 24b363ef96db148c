package check

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// checkOwnUnit checks that systemd starts a unit of the user's, with its drop-ins.
func (c *inspection) checkOwnUnit(f *node.File) {
	if f.Why != node.FromConfig || path.Dir(f.Path) != plan.UnitDir {
		return
	}
	text := string(f.Content)
	for _, other := range c.node.Files { // in the order of their names
		if path.Dir(other.Path) == f.Path+".d" {
			text += "\n" + string(other.Content)
		}
	}
	if problem := unitProblem(path.Base(f.Path), text); problem != "" {
		c.failFile(f, problem)
	}
	if other := c.waitsFor(path.Base(f.Path)); other != "" {
		c.failFile(f, "starts before "+other+" and, by After= and Before= of both or of others "+
			"between them, behind it; systemd leaves one of them out; remove one of these lines")
	}
}

// waitsFor returns the last unit on a way from a unit over those that it starts after back to
// itself, "" if there is none.
func (c *inspection) waitsFor(unit string) string {
	after := map[string][]string{}
	for _, f := range c.node.Files {
		name := path.Base(strings.TrimSuffix(path.Dir(f.Path), ".d"))
		if path.Dir(f.Path) == plan.UnitDir {
			name = path.Base(f.Path)
		} else if path.Dir(path.Dir(f.Path)) != plan.UnitDir || path.Ext(f.Path) != ".conf" {
			continue
		}
		set := unitSettings(string(f.Content))
		for _, list := range values(set, "Unit", "After") {
			after[name] = append(after[name], strings.Fields(list)...)
		}
		for _, list := range values(set, "Unit", "Before") {
			for _, later := range strings.Fields(list) {
				after[later] = append(after[later], name)
			}
		}
	}
	seen := map[string]bool{}
	for list := []string{unit}; len(list) > 0; list = list[1:] {
		for _, next := range after[list[0]] {
			if next == unit && list[0] != unit {
				return list[0]
			}
			if !seen[next] {
				seen[next] = true
				list = append(list, next)
			}
		}
	}
	return ""
}

// needs are the settings of a kind of unit without one of which systemd refuses it (systemd 257,
// src/core: timer_verify, path_verify, socket_verify, mount_verify).
var needs = map[string]struct {
	section  string
	settings *regexp.Regexp
	todo     string
}{
	".mount": {"Mount", regexp.MustCompile(`^What$`), "What, such as What=LABEL=data"},
	".path": {
		"Path", regexp.MustCompile(`^(Path(Exists(Glob)?|Changed|Modified)|DirectoryNotEmpty)$`),
		"what it waits for, such as PathExists=/run/ready",
	},
	".socket": {
		"Socket", regexp.MustCompile(`^Listen`), "where it listens, such as ListenStream=8080",
	},
	".timer": {"Timer", regexp.MustCompile(`^On`), "a time, such as OnCalendar=daily"},
}

// unitProblem returns why systemd does not start a unit of a name, "" if it does. text is the unit
// and its drop-ins. The answer has no value of the unit, which may be a secret.
func unitProblem(name, text string) string {
	kind := path.Ext(name)
	set := unitSettings(text)
	need, ok := needs[kind]
	if ok && !slices.ContainsFunc(set, func(s unitSetting) bool {
		return s.section == need.section && need.settings.MatchString(s.name)
	}) {
		return fmt.Sprintf("systemd refuses a unit whose section [%s] does not say %s",
			need.section, need.todo)
	}
	switch kind {
	case ".service":
		return serviceProblem(set)
	case ".mount":
		return cmp.Or(nameProblem(name, set, "Mount", "Where"), node.MountProblem(unitPath(name),
			last(set, "Mount", "Type", ""), last(set, "Mount", "Options", "")))
	case ".automount":
		return nameProblem(name, set, "Automount", "Where")
	case ".swap":
		return nameProblem(name, set, "Swap", "What")
	}
	return ""
}

// nameProblem returns why systemd does not load a unit that is called after a path (mount_verify,
// automount_verify, swap_verify), "" if it does. Without the setting, the name says the path.
func nameProblem(name string, set []unitSetting, section, key string) string {
	named := unitPath(name)
	wanted := last(set, section, key, "")
	if !path.IsAbs(wanted) || strings.Contains(wanted, "%") || path.Clean(wanted) == named {
		return ""
	}
	return fmt.Sprintf("systemd refuses a unit whose name does not follow from %s: this name is "+
		"for %s; write %[1]s=%[2]s, or call the unit after its path "+
		"(systemd-escape --path --suffix=%[3]s PATH)", key, named, strings.ToLower(section))
}

// serviceProblem judges services as systemd does (src/core/service.c, service_verify).
func serviceProblem(set []unitSetting) string {
	starts := values(set, "Service", "ExecStart")
	kind := last(set, "Service", "Type", "")
	if kind == "" && starts == nil {
		kind = "oneshot"
	}
	restart := last(set, "Service", "Restart", "no")
	ends := len(values(set, "Service", "ExecStop")) > 0 ||
		last(set, "Unit", "SuccessAction", "none") != "none"
	switch {
	case kind != "oneshot" && starts == nil || starts == nil && !ends:
		return "systemd refuses a service without a command; write ExecStart=/PROGRAM into its " +
			"section [Service]"
	case kind != "oneshot" && len(starts) > 1:
		return fmt.Sprintf("has ExecStart %d times, which systemd takes with Type=oneshot alone; "+
			"write that, or one command, and in a drop-in a line ExecStart= without a value "+
			"before it", len(starts))
	case kind == "oneshot" && (restart == "always" || restart == "on-success"):
		return "systemd refuses Restart=" + restart + " with Type=oneshot; write " +
			"Restart=on-failure, or a timer that starts it again"
	case kind == "dbus" && last(set, "Service", "BusName", "") == "":
		return "systemd refuses Type=dbus without BusName; write one"
	}
	return ""
}

type unitSetting struct{ section, name, value string }

// unitSettings returns the settings of a unit in their order. They are well-formed; package config
// has seen to that.
func unitSettings(text string) (set []unitSetting) {
	section := ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		key, value, is := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		case is:
			key, value = strings.TrimSpace(key), strings.TrimSpace(value)
			set = append(set, unitSetting{section, key, value})
		}
	}
	return set
}

// values returns the values of a list. An empty one drops those before it.
func values(set []unitSetting, section, key string) (list []string) {
	for _, s := range set {
		switch {
		case s.section != section || s.name != key:
		case s.value == "":
			list = nil
		default:
			list = append(list, s.value)
		}
	}
	return list
}

func last(set []unitSetting, section, key, otherwise string) string {
	if list := values(set, section, key); list != nil {
		return list[len(list)-1]
	}
	return otherwise
}

// unitPath returns the path that a unit is called after (systemd.unit(5), string escaping).
func unitPath(name string) string {
	name = strings.ReplaceAll(strings.TrimSuffix(name, path.Ext(name)), "-", "/")
	return path.Clean("/" + escapedByte.ReplaceAllStringFunc(name, func(code string) string {
		n, _ := strconv.ParseUint(code[2:], 16, 8)
		return string([]byte{byte(n)})
	}))
}

var escapedByte = regexp.MustCompile(`\\x[0-9a-f]{2}`)

// commandSettings are the settings of units that name files which must exist. A path with "-" or
// "!" in front may be missing; it does not begin with a slash and is not checked.
var commandSettings = []string{
	"ConditionPathExists=", "EnvironmentFile=",
	"ExecStart=", "ExecStartPre=", "ExecStartPost=", "ExecReload=", "ExecStop=",
}

var execStart = regexp.MustCompile(`(?m)^[ \t]*ExecStart[ \t]*=`)

// containerdConfig matches what names a configuration of containerd (cmd/containerd/command/main.go
// of containerd 2.4.2; Flatcar's unit takes it from the variable). A value may be a variable.
var containerdConfig = regexp.MustCompile(
	`(?:containerd\s(?:.*\s)?(?:--?config|-c)|CONTAINERD_CONFIG)[=\s]+["']?(/[^\s"']*)`)

func (c *inspection) checkContainerdCommand(f *node.File) {
	const unit = plan.UnitDir + "/containerd.service"
	if f.Why != node.FromConfig || f.Path != unit && path.Dir(f.Path) != unit+".d" {
		return
	}
	set := unitSettings(string(f.Content))
	for _, v := range append(values(set, "Service", "ExecStart"),
		values(set, "Service", "Environment")...) {
		if m := containerdConfig.FindStringSubmatch(v); m != nil &&
			path.Clean(m[1]) != plan.ContainerdConfig {
			c.failFile(f, "starts containerd with another configuration than "+
				plan.ContainerdConfig+", where kiln writes the cgroups, the sandbox image and the "+
				"registries; name that file, and put settings of your own into "+
				"/etc/containerd/conf.d/NAME.toml")
		}
	}
}

func (c *inspection) checkUnit(f node.File) {
	if f.Why == node.FromConfig && path.Dir(f.Path) == path.Dir(plan.KubeletDropIn) &&
		execStart.Match(f.Content) {
		c.failFile(&f, "changes ExecStart of kubelet.service, which is kiln's; write the fields "+
			"of kubelet, or kubeletExtraArgs")
	}
	c.checkContainerdCommand(&f)
	c.checkDropIn(&f)
	c.checkOwnUnit(&f)
	for line := range strings.Lines(strings.ReplaceAll(string(f.Content), "\\\n", " ")) {
		for _, setting := range commandSettings {
			command, found := strings.CutPrefix(line, setting)
			if !found {
				continue
			}
			for _, word := range machine.SplitWords(command) {
				_, value, isFlag := strings.Cut(word, "=")
				if !isFlag {
					value = word
				}
				c.requirePath("file "+f.Path, value)
			}
		}
	}
}

package cloudinit

import (
	"slices"
	"strings"

	"kiln/render/node"
)

// What comes after the files does not wait for cloud-init's last stages, which may install packages
// or ask servers: it needs the files alone. runcmd runs in the last stage. So bootcmd, which runs
// before write_files, leaves a script, and a unit that systemd starts behind cloud-config.target. In
// every release that target follows the stage that writes the files.
const (
	// startLater writes the lines "$@" into a script, and has systemd run it once the files are
	// there. bootcmd runs at every boot, but the script only until the machine has verified its
	// files.
	startLater = "[ -e " + node.Verified + ` ] || { printf '%s\n' "$@" >/run/kiln-start && ` +
		"systemd-run --no-block -u kiln-start -p After=cloud-config.target sh /run/kiln-start; }"

	// makeLink is the function for links: it links $2 to $1, unless $2 exists, even as a link to
	// nowhere.
	makeLink = `link() { [ -e "$2" ] || [ -L "$2" ] || ` +
		`{ mkdir -p "${2%/*}/" && ln -s -- "$1" "$2"; }; }`

	// bodyUnits runs the second part of the body.
	bodyUnits = "sh " + bodyDir + "/body units"
)

// startLines returns what n is to do after its files, as lines of shell: owners that are numbers,
// links, and units.
func startLines(n *node.Node) (lines []string) {
	line := func(words ...string) { lines = append(lines, shellLineOf(words)) }
	for _, f := range n.Alike() {
		if isNumbered(f) {
			line("chown", "--", node.Owner(f.User)+":"+node.Owner(f.Group), f.Path)
		}
	}
	for _, l := range n.Links {
		line("link", l.Target, l.Path)
	}
	if n.Remote != nil && n.Remote.Whole {
		return append(lines, bodyUnits)
	}
	for _, words := range unitCommands(n.Units) {
		line(append([]string{"systemctl"}, words...)...)
	}
	return lines
}

func startCommand(lines []string) argv {
	return append(argv{"sh", "-c", startLater, "--", makeLink}, lines...)
}

// unitCommands returns the words after systemctl that bring units to their states. One reload is
// enough for all of them.
func unitCommands(units []node.Unit) (commands [][]string) {
	if len(units) == 0 {
		return nil
	}
	each := func(wanted func(node.Unit) bool, words ...string) {
		for _, u := range units {
			if wanted(u) {
				commands = append(commands, append(slices.Clone(words), "--", u.Name))
			}
		}
	}
	each(func(u node.Unit) bool { return u.Masked }, "--no-reload", "mask")
	each(func(u node.Unit) bool { return u.Enabled }, "--no-reload", "enable")
	commands = append(commands, []string{"daemon-reload"})
	// Some units wait for the end of the boot, so that waiting for them would never end.
	each(func(u node.Unit) bool { return u.Started }, "--no-block", "start")
	return commands
}

// readStartCommand adds to n what the command starts. It reports whether startCommand returns it.
func readStartCommand(command argv, n *node.Node) bool {
	head := startCommand(nil)
	if len(command) <= len(head) || !slices.Equal(command[:len(head)], head) {
		return false
	}
	for _, line := range command[len(head):] {
		words, rest, err := shellLine(line + "\n")
		if err != nil || rest != "" || !readStartLine(words, n) {
			return false
		}
	}
	return true
}

// readStartLine adds to n the owners of a file, a link, or the state of a unit.
func readStartLine(words []string, n *node.Node) bool {
	switch {
	case strings.Join(words, " ") == bodyUnits && n.Remote != nil:
		n.Remote.Whole = true
	case len(words) == 4 && words[0] == "chown" && n.File(words[3]) != nil:
		f := n.File(words[3])
		f.User, f.Group, _ = strings.Cut(words[2], ":")
	case len(words) == 3 && words[0] == "link":
		n.Links = append(n.Links, node.Link{Target: words[1], Path: words[2]})
	case len(words) > 1 && words[0] == "systemctl":
		return readUnitCommand(words[1:], n)
	default:
		return false
	}
	return true
}

// readUnitCommand is the inverse of unitCommands for one command.
func readUnitCommand(words []string, n *node.Node) bool {
	last := words[len(words)-1]
	switch strings.Join(words[:len(words)-1], " ") {
	case "":
		return last == "daemon-reload"
	case "--no-reload mask --":
		unit(n, last).Masked = true
	case "--no-reload enable --":
		unit(n, last).Enabled = true
	case "--no-block start --":
		unit(n, last).Started = true
	default:
		return false
	}
	return true
}

// unit returns the named unit of n, and adds it first if n does not have it.
func unit(n *node.Node, name string) *node.Unit {
	for i := range n.Units {
		if n.Units[i].Name == name {
			return &n.Units[i]
		}
	}
	n.Units = append(n.Units, node.Unit{Name: name})
	return &n.Units[len(n.Units)-1]
}

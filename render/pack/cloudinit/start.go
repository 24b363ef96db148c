package cloudinit

import (
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/node"
)

// What comes after the files does not wait for cloud-init's last stages, which may install packages
// or ask servers: it needs the files alone. runcmd runs in the last stage. So bootcmd, which runs
// before write_files, leaves a unit that systemd starts behind cloud-config.target. In every
// release that target follows the stage that writes the files. bootcmd runs at every boot, but
// leaves the unit only until the machine has verified its files.
const (
	unverified = "[ -e " + node.Verified + " ] || "
	startUnit  = "systemd-run --no-block -u kiln-start -p After=cloud-config.target sh "

	// startBody runs the second part of the body.
	startBody = unverified + startUnit + bodyDir + "/body units"

	// startLines writes the lines "$@" into a script, and runs that.
	startLines = unverified + `{ printf '%s\n' "$@" >/run/kiln-start && ` +
		startUnit + "/run/kiln-start; }"

	// uncover moves what a mount at $1 hides into it: cloud-init writes files before it mounts.
	// The file system below shows it at another place.
	uncover = `mountpoint -q "$1" || exit 0; d=/run/kiln-below p=$(findmnt -no TARGET -T ` +
		`"${1%/*}/"); mkdir -p $d && mount --bind "$p" $d && cp -a "$d/${1#"$p"}/." "$1/" && ` +
		`rm -rf "$d/${1#"$p"}/"*; umount $d`

	// functions are those of the script: link links $2 to $1, unless $2 exists, even as a link to
	// nowhere, and want links what enables the unit $2 of the target $1.
	functions = `link() { [ -e "$2" ] || [ -L "$2" ] || ` +
		`{ mkdir -p "${2%/*}/" && ln -s -- "$1" "$2"; }; }
want() { link ../$2 ` + unitDir + `$1.wants/$2; }`
)

// startCommands returns the commands of bootcmd that start what n is to do after its files.
func startCommands(n *node.Node) (commands []argv) {
	if lines := scriptLines(n); len(lines) > 0 {
		commands = append(commands, startCommand(lines))
	}
	if n.Remote != nil && n.Remote.Whole {
		commands = append(commands, argv{"sh", "-c", startBody})
	}
	return commands
}

func startCommand(lines []string) argv {
	return append(argv{"sh", "-c", startLines, "--", functions}, lines...)
}

// scriptLines returns what n is to do after its files, as lines of shell: owners that are numbers,
// links, and units, which the body brings if it is there.
func scriptLines(n *node.Node) (lines []string) {
	line := func(words ...string) { lines = append(lines, shellLineOf(words)) }
	for _, folder := range n.Hidden() {
		line("sh", "-c", uncover, "--", folder)
	}
	for _, f := range n.Alike() {
		if isNumbered(&f) {
			line("chown", "--", node.Owner(f.User)+":"+node.Owner(f.Group), f.Path)
		}
	}
	units := slices.Clone(n.Units)
	for _, l := range n.Links {
		if target, i := enables(l, units); i >= 0 {
			line("want", target, units[i].Name)
			units[i].Enabled = false
			continue
		}
		line("link", l.Target, l.Path)
	}
	if n.Remote == nil || !n.Remote.Whole {
		for _, words := range unitCommands(units) {
			line(append([]string{"systemctl"}, words...)...)
		}
	}
	return lines
}

// enables returns the target whose link l enables one of the units, and the unit's index; -1 if it
// is not such a link.
func enables(l node.Link, units []node.Unit) (target string, index int) {
	rest, _ := strings.CutPrefix(l.Path, unitDir)
	target, name, _ := strings.Cut(rest, ".wants/")
	if l != wantLink(target, name) || !unitName.MatchString(target) {
		return "", -1
	}
	return target, slices.IndexFunc(units, func(u node.Unit) bool {
		return u.Name == name && u.Enabled
	})
}

func wantLink(target, name string) node.Link {
	return node.Link{Target: "../" + name, Path: unitDir + target + ".wants/" + name}
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

// readStartCommand adds to n what the command starts. It reports whether startCommands returns it.
func readStartCommand(command argv, n *node.Node) bool {
	if n.Remote != nil && slices.Equal(command, argv{"sh", "-c", startBody}) {
		n.Remote.Whole = true
		return true
	}
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
	case len(words) == 5 && slices.Equal(words[:4], []string{"sh", "-c", uncover, "--"}):
		return slices.Contains(n.Hidden(), words[4])
	case len(words) == 4 && words[0] == "chown" && n.File(words[3]) != nil:
		f := n.File(words[3])
		f.User, f.Group, _ = strings.Cut(words[2], ":")
	case len(words) == 3 && words[0] == "link":
		n.Links = append(n.Links, node.Link{Target: words[1], Path: words[2]})
	case len(words) == 3 && words[0] == "want":
		n.Links = append(n.Links, wantLink(words[1], words[2]))
		unit(n, words[2]).Enabled = true
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

package media

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/target"
)

// check checks a machine before any file is made for it. It fails if a name or the MAC could not
// stand in scripts, or if another machine has the MAC.
func (w *writer) check(m *Machine) error {
	err := errors.Join(checkName(m.Kind(), m.Name), checkName("platform", m.Platform))
	if m.MAC == "" {
		return err
	}
	if !macAddress.MatchString(m.MAC) {
		err = errors.Join(err, fmt.Errorf("node %s: mac %q: want six pairs of lower-case "+
			"hexadecimal digits, such as 52:54:00:12:34:56", m.Name, m.MAC))
	}
	if other, ok := w.macs[m.MAC]; ok {
		err = errors.Join(err, fmt.Errorf("node %s: mac %s is also that of %s; "+
			"every machine has its own", m.Name, m.MAC, other))
	}
	w.macs[m.MAC] = m.Name
	return err
}

var macAddress = regexp.MustCompile(`^([0-9a-f]{2}:){5}[0-9a-f]{2}$`)

// checkName checks the name of a cluster, machine or platform. It fails if kiln renders no such
// name.
func checkName(what, name string) error {
	if plainName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%s %q: kiln renders no such name, and it would stand in scripts; "+
		"render again", what, name)
}

var plainName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// disks checks that every disk is for a machine that installs itself. A disk without a machine's
// name is for all of them.
func (w *writer) disks() {
	some := slices.Contains(slices.Collect(maps.Values(w.installers)), true)
	systems := target.SystemNames(func(s *target.System) bool {
		return s.NetBoot != nil && s.NetBoot.Installer != ""
	})
	for _, node := range slices.Sorted(maps.Keys(w.Disks)) {
		if w.installers[node] || node == "" && some {
			continue
		}
		machine := "no machine"
		if node != "" {
			machine += " " + node
		}
		w.fail(fmt.Errorf("the disk %s: there is %s with %s; "+
			"the other systems do not install themselves",
			w.Disks[node], machine, strings.Join(systems, ", ")))
	}
}

// scripts checks that some machine has a script, unless something else is wrong.
func (w *writer) scripts() {
	hasScript := func(b Boot) bool { return b.Script != "" }
	if w.failed || slices.ContainsFunc(w.result.Boots, hasScript) {
		return
	}
	w.fail(errors.New("no machine can boot over the network"))
	for _, s := range w.result.Skipped {
		w.fail(errors.New(s.String()))
	}
}

// String returns the machine and the reason in words.
func (s Skipped) String() string { return s.Kind + " " + s.Name + ": " + s.Why }

// Address checks an address that files are served from. It fails if the address is not http or
// https, has a user, a query or a fragment, or cannot stand in an iPXE script.
func Address(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		return errors.New("not an address; write it like http://10.0.0.5:8080")
	case u.User != nil:
		return errors.New("it stands on every kernel's command line, where everybody can read " +
			"its password; remove that")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery || strings.HasSuffix(text, "#"):
		return errors.New("paths are put behind it, so it can have no ? and no #")
	}
	return Argument(text)
}

// Argument checks a word of an iPXE script, which has no quotes and no escapes (iPXE's
// src/core/exec.c). It fails if iPXE would not read the word as one argument.
func Argument(word string) error {
	switch {
	case word == "":
		return errors.New("it is empty")
	case strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("it has a space or a character that is not ASCII, " +
			"and iPXE knows no quotes")
	case word[0] == '#' || word == "||" || word == "&&" || word == ";":
		return errors.New("iPXE would take it for a comment or the end of the command")
	}
	return nil
}

// clashes returns an error for each path that stands twice, or both as a file and as a folder: the
// names of machines become the names of folders.
func clashes(paths []string) (errs []error) {
	seen := map[string]bool{}
	for _, name := range paths {
		if seen[name] {
			errs = append(errs, fmt.Errorf(
				"two files would be %s; rename the machine that it is named for", name))
		}
		seen[name] = true
	}
	for _, name := range paths {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if seen[dir] {
				errs = append(errs, fmt.Errorf(
					"%s would be a file and the folder of %s; rename the machine", dir, name))
			}
		}
	}
	return errs
}

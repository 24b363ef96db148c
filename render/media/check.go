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
)

// check finds what is wrong with a machine before anything is made of it.
func (w *writer) check(m *Machine) error {
	err := errors.Join(checkName(m.Kind(), m.Name), checkName("platform", m.Platform))
	if m.MAC == "" {
		return err
	}
	if !macAddress.MatchString(m.MAC) {
		err = errors.Join(err, fmt.Errorf("node %s: mac %q: want six pairs of lower-case hexadecimal digits, such as 52:54:00:12:34:56", m.Name, m.MAC))
	}
	if other, ok := w.macs[m.MAC]; ok {
		err = errors.Join(err, fmt.Errorf("node %s: mac %s is that of %s too; one machine has it", m.Name, m.MAC, other))
	}
	w.macs[m.MAC] = m.Name
	return err
}

var macAddress = regexp.MustCompile(`^([0-9a-f]{2}:){5}[0-9a-f]{2}$`)

// checkName holds a name of a cluster, machine or platform to what kiln renders.
func checkName(what, name string) error {
	if plainName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%s %q: kiln renders no such name, and it would stand in scripts; render again", what, name)
}

var plainName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// disks checks that every disk is some machine's.
func (w *writer) disks() {
	for _, node := range slices.Sorted(maps.Keys(w.Disks)) {
		if w.installers[node] || node == "" && slices.Contains(slices.Collect(maps.Values(w.installers)), true) {
			continue
		}
		if node != "" {
			node += " "
		}
		w.fail(fmt.Errorf("the disk %s: no machine %sis there with fedora-coreos; the other systems do not install themselves", w.Disks[strings.TrimSpace(node)], node))
	}
}

// scripts checks that there are some, unless something else is wrong.
func (w *writer) scripts() {
	if w.failed || slices.ContainsFunc(w.result.Boots, func(b Boot) bool { return b.Script != "" }) {
		return
	}
	w.fail(errors.New("no machine can boot over the network"))
	for _, s := range w.result.Skipped {
		w.fail(errors.New(s.String()))
	}
}

// String says it in words.
func (s Skipped) String() string { return s.Kind + " " + s.Name + ": " + s.Why }

// Address says what is wrong with an address that files are served from.
func Address(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		return errors.New("not an address; write it like http://10.0.0.5:8080")
	case u.User != nil:
		return errors.New("it stands on every kernel's command line, where everybody reads its password; leave it away")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery || strings.HasSuffix(text, "#"):
		return errors.New("paths are put behind it, so it can have no ? and no #")
	}
	return Argument(text)
}

// Argument says what is wrong with a word of an iPXE script, which has no quotes and no escapes (iPXE's src/core/exec.c).
func Argument(word string) error {
	switch {
	case word == "":
		return errors.New("nothing is there")
	case strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("it has a space or a character that is not ASCII, and iPXE knows no quotes")
	case word[0] == '#' || word == "||" || word == "&&" || word == ";":
		return errors.New("iPXE would take it for a comment or the end of the command")
	}
	return nil
}

// clashes finds paths that are there twice, or both as a file and as a folder: names of machines become those of folders.
func clashes(paths []string) (errs []error) {
	seen := map[string]bool{}
	for _, name := range paths {
		if seen[name] {
			errs = append(errs, fmt.Errorf("two files would be %s; rename the machine that it is named for", name))
		}
		seen[name] = true
	}
	for _, name := range paths {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if seen[dir] {
				errs = append(errs, fmt.Errorf("%s would be a file and the folder of %s; rename the machine", dir, name))
			}
		}
	}
	return errs
}

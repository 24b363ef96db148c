// Package verify compares a running machine with its document, and makes the program that gives it
// the newer one. Script returns a program that lists what is on the machine, Parse reads the
// listing, and Compare says what differs. The caller runs the programs on the machine.
package verify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
)

// Kinds of findings.
const (
	Changed   = "changed"    // the content of a file, or the target of a link
	Missing   = "missing"    // a file, folder or link
	Mode      = "mode"       // of a file or folder
	Owner     = "owner"      // of a file or folder
	Type      = "type"       // something else than a file, folder or link
	Unit      = "unit"       // the state of a unit, or a file that sets it
	StaticPod = "static-pod" // one that is not in the document
	Left      = "left"       // what the hook removes at the end of the first boot
)

// Finding is one difference between a machine and its document.
type Finding struct {
	Object string `json:"object"` // a path, or the name of a unit; harmless for a terminal
	Kind   string `json:"kind"`
	How    string `json:"how"` // what is there, and what is not; harmless for a terminal
}

// Report is what Compare found.
type Report struct {
	Machine string `json:"machine"` // its name in the document; empty for a pool
	// Other reports whether the machine was made from another document.
	Other    bool      `json:"otherDocument"`
	Done     bool      `json:"done"`     // the first boot is done
	Compared int       `json:"compared"` // files, folders, links and units
	Findings []Finding `json:"findings"` // sorted by object
}

// Same reports whether nothing differs.
func (r *Report) Same() bool { return !r.Other && len(r.Findings) == 0 }

// Compare compares a machine with its document. Nothing in the report is computed from a content.
func Compare(n *node.Node, l *Listing) *Report {
	c := comparison{
		Report: &Report{
			Machine: n.Name, Done: l.done, Compared: len(paths(n)) + len(units(n)),
			Findings: []Finding{},
		},
		l: l, known: map[string]bool{},
	}
	for _, path := range paths(n) {
		c.known[path] = true
	}
	// Before the first step of its hook a machine was made from the document whose list it has.
	if f := n.File(node.List); f != nil {
		c.Other = cmp.Or(l.made, l.list, sum(f.Content)) != sum(f.Content)
	}
	c.files(n)
	c.units(n)
	for _, path := range l.pods {
		if !c.known[path] {
			c.add(path, StaticPod, "a static pod that is not in the document")
		}
	}
	slices.SortFunc(c.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.How, b.How))
	})
	c.Findings = slices.Compact(c.Findings)
	return c.Report
}

type comparison struct {
	*Report
	l     *Listing
	known map[string]bool // the paths of the document
}

func (c *comparison) add(object, kind, how string) {
	c.Findings = append(c.Findings,
		Finding{wording.Visible(object, ""), kind, wording.Visible(how, "")})
}

func (c *comparison) files(n *node.Node) {
	removed := layout.Retired(n)
	for i := range n.Files {
		f := &n.Files[i]
		e := c.l.entries[f.Path]
		switch {
		case removed[f.Path] && e.kind == none:
			continue
		case removed[f.Path] && c.l.done:
			c.add(f.Path, Left, "not removed, though the first boot is done")
			continue
		}
		if !c.is(f.Path, file) {
			continue
		}
		// The hook may write the members of etcd into the manifest of one that joined them.
		joined := f.Path == etcdManifest && c.l.alike == sum(alike(f.Content))
		if e.sum != sum(f.Content) && !joined {
			c.add(f.Path, Changed, "not what was rendered")
		}
		c.rights(f.Path, f.Mode, f.User, f.Group)
	}
	for _, d := range n.Dirs {
		if c.is(d.Path, folder) {
			c.rights(d.Path, d.Mode, d.User, d.Group)
		}
	}
	for _, l := range n.Links {
		// The kubelet makes this link anew when it renews its certificate.
		if c.is(l.Path, link) && l.Path != plan.KubeletCurrent {
			if is := c.l.entries[l.Path].target; is != l.Target {
				c.add(l.Path, Changed, fmt.Sprintf("leads to %s, not to %s", is, l.Target))
			}
		}
	}
}

// is reports whether the path is of that kind, and adds a finding if it is not.
func (c *comparison) is(path string, want kind) bool {
	switch is := c.l.entries[path].kind; is {
	case want:
		return true
	case none:
		c.add(path, Missing, "missing")
	default:
		c.add(path, Type, fmt.Sprintf("%s, not %s", is, want))
	}
	return false
}

// rights compares the mode and the owner of a file or folder.
func (c *comparison) rights(path string, mode uint32, user, group string) {
	e := c.l.entries[path]
	if e.mode != mode {
		c.add(path, Mode, fmt.Sprintf("mode %04o, not %04o", e.mode, mode))
	}
	user, group = node.Owner(user), node.Owner(group)
	if user != e.user && user != e.uid || group != e.group && group != e.gid {
		c.add(path, Owner, fmt.Sprintf("owner %s:%s, not %s:%s", e.uid, e.gid, user, group))
	}
}

// units compares the state of units, and the files that set them.
func (c *comparison) units(n *node.Node) {
	want := map[string]node.Unit{}
	for _, u := range n.Units {
		want[u.Name] = u
	}
	for _, name := range units(n) {
		want, is := want[name], c.l.units[name]
		masked := is.load == "masked" || strings.HasPrefix(is.state, "masked")
		state := cmp.Or(is.state, is.load)
		switch {
		case want.Masked && !masked:
			c.add(name, Unit, "not masked")
		case !want.Masked && masked:
			c.add(name, Unit, "masked")
		case want.Enabled && slices.Contains([]string{"disabled", "not-found", "bad"}, state):
			// systemctl disable removes a link of the document, which has its own finding.
			if !slices.ContainsFunc(c.Findings, func(f Finding) bool {
				return strings.HasSuffix(f.Object, ".wants/"+name)
			}) {
				c.add(name, Unit, state+", not enabled")
			}
		}
	}
	for _, name := range written(n) {
		for _, path := range c.l.units[name].files {
			c.foreign(path, "sets "+name)
		}
	}
	for _, path := range c.l.dropIns {
		c.foreign(path, "a drop-in")
	}
}

// foreign adds a finding for a file of systemd's that is neither in the document nor part of the
// system.
func (c *comparison) foreign(path, what string) {
	system := strings.HasPrefix(path, "/usr/") || strings.HasPrefix(path, "/lib/")
	found := slices.ContainsFunc(c.Findings, func(f Finding) bool {
		return f.Object == wording.Visible(path, "")
	})
	if !system && path != "/dev/null" && !c.known[path] && !found {
		c.add(path, Unit, what+", and is not in the document")
	}
}

const etcdManifest = plan.ManifestsDir + "/etcd.yaml"

var (
	initialCluster = regexp.MustCompile(`--initial-cluster=[^ "\n]*`)
	initialState   = regexp.MustCompile(`--initial-cluster-state=existing`)
)

// alike returns a manifest of etcd without what the hook may write to it, as the program in list.sh
// does: in each line it replaces the first of each.
func alike(manifest []byte) []byte {
	var b strings.Builder
	for line := range strings.Lines(string(manifest)) {
		line = replaceFirst(initialCluster, line, "--initial-cluster=")
		b.WriteString(replaceFirst(initialState, line, "--initial-cluster-state=new"))
	}
	return []byte(b.String())
}

func replaceFirst(what *regexp.Regexp, line, with string) string {
	if at := what.FindStringIndex(line); at != nil {
		return line[:at[0]] + with + line[at[1]:]
	}
	return line
}

func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

// Package machine reads a finished machine as the programs on it will: the files with their links
// and parents, the static pods with their flags, volumes and users, the kubelet and the
// kubeconfigs. It checks what concerns one program alone: its command line, its feature gates, an
// audit policy. Package check has the rules between them.
package machine

import (
	"iter"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/plan"
)

// Tree is what lies on a machine after its document was written.
type Tree struct {
	files map[string]*node.File
	dirs  map[string]node.Dir
	links map[string]string // the target of each link
	hook  map[string]string // what the file has that the hook reads
}

// ReadTree returns the files, directories and links of a machine. A directory that only exists as
// the parent of something is among them: it has the mode 0755 and is root's.
func ReadTree(n *node.Node) *Tree {
	t := &Tree{
		files: make(map[string]*node.File, len(n.Files)),
		dirs:  map[string]node.Dir{},
		links: map[string]string{},
		hook:  map[string]string{},
	}
	var paths []string
	for i := range n.Files {
		f := &n.Files[i]
		t.files[f.Path] = f
		paths = append(paths, f.Path)
	}
	for _, d := range n.Dirs {
		t.dirs[d.Path] = d
		paths = append(paths, d.Path)
	}
	for _, l := range n.Links {
		t.links[l.Path] = l.Target
		paths = append(paths, l.Path)
	}
	if f := t.files[plan.KilnDir+"/machine"]; f != nil {
		data, _ := layout.ReadSettings(f.Content)
		for _, s := range slices.Backward(data) {
			t.hook[s.Name] = s.Value
		}
	}
	for _, p := range paths {
		for parent := range Parents(p) {
			if _, known := t.dirs[parent]; known {
				break // its own parents are known, or come with its own path
			}
			t.dirs[parent] = node.Dir{Path: parent, Mode: 0o755}
		}
	}
	return t
}

// Parents returns the directories above a path, the nearest first. The root is not one of them.
func Parents(p string) iter.Seq[string] {
	return func(yield func(string) bool) {
		dir := path.Dir(p)
		for dir != "/" && dir != "." && yield(dir) {
			dir = path.Dir(dir)
		}
	}
}

// LiesIn reports whether p is dir, or lies below it.
func LiesIn(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// Exact returns the file that the document has at exactly this path, or nil. It follows no links.
func (t *Tree) Exact(path string) *node.File { return t.files[path] }

// File returns the machine's file at a path, after following links, or nil.
func (t *Tree) File(path string) *node.File { return t.files[t.Resolve(path)] }

// Dir returns the directory at a path, and whether the machine has it. It follows no links.
func (t *Tree) Dir(path string) (dir node.Dir, known bool) {
	dir, known = t.dirs[path]
	return dir, known
}

// Resolve returns where a path leads after following the document's links.
func (t *Tree) Resolve(p string) string {
	for range len(t.links) { // more steps would mean a loop
		target, isLink := t.links[p]
		if !isLink {
			break
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(p), target)
		}
		p = target
	}
	return p
}

// Has reports whether the machine has a file, link or directory at a path, parents among them.
func (t *Tree) Has(p string) bool {
	_, isDir := t.dirs[p]
	_, isLink := t.links[p]
	return isDir || isLink || t.files[p] != nil
}

// HookData returns one value of the file that the hook reads, or "".
func (t *Tree) HookData(key string) string { return t.hook[key] }

// HostNames returns the names that the machine is given: by /etc/hostname, if there is such a file,
// and by the hook. The hook's name is the last, and the name of the Node.
func (t *Tree) HostNames() []string {
	var names []string
	if f := t.files["/etc/hostname"]; f != nil {
		names = append(names, strings.TrimSpace(string(f.Content)))
	}
	return slices.Compact(append(names, t.HookData("node")))
}

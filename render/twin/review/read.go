package review

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
	"kiln.dev/kiln/render/twin/change"
)

// Read reads the review twin that consists of these files, by the paths below its folder. It fails
// as ReadFrom does.
func Read(files map[string][]byte) (*change.Cluster, error) {
	return ReadFrom(func(name string) ([]byte, error) {
		if data, ok := files[name]; ok {
			return data, nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	})
}

// Heading is the part of a twin's INDEX that tells whose twin it is and which folders it has.
type Heading struct {
	Name, Cluster string   // the cluster's name and UUID
	Folders       []string // the paths of the folders that the twin has below its own
	Facts         []plan.Fact
}

// ParseHeading reads the INDEX of a twin. The name is for messages. It fails if the first line is
// not that of a twin.
func ParseHeading(name string, index []byte) (*Heading, error) {
	h, version := &Heading{Folders: []string{sharedFolder}}, ""
	_, err := fmt.Sscanf(string(index), firstLine, &h.Name, &h.Cluster, &version)
	if err != nil {
		return nil, fmt.Errorf("%s: not the %s of a review twin; name a new folder with --review",
			name, IndexFile)
	}
	for line := range strings.Lines(string(index)) {
		switch words := strings.Fields(line); {
		case strings.HasPrefix(line, "cluster "):
			name, value, _ := strings.Cut(strings.TrimSpace(line[len("cluster "):]), ": ")
			h.Facts = append(h.Facts, plan.Fact{Name: name, Value: value})
		case len(words) < 2 || !isFolderName(words[1]):
		case words[0] == "node":
			h.Folders = append(h.Folders, words[1])
		case words[0] == "pool":
			h.Folders = append(h.Folders, path.Join("pools", words[1]))
		}
	}
	return h, nil
}

// FolderFiles returns the paths of the files of a twin that the INDEX of its folder dir names, and
// that of the INDEX. It returns none if a line of the INDEX is not that of a twin: then somebody
// else wrote it.
func FolderFiles(dir string, index []byte) []string {
	names := []string{path.Join(dir, IndexFile)}
	for _, line := range wording.SplitLines(index) {
		if strings.HasPrefix(line, indent) || strings.HasPrefix(line, "with ") ||
			strings.HasPrefix(line, "without ") {
			continue
		}
		e, ok := readEntry(line, nil)
		if !ok {
			return nil
		}
		if e.Kind == "file" && path.IsAbs(e.ID) && path.Clean(e.ID) == e.ID {
			names = append(names, dir+e.ID)
		}
	}
	return names
}

// isFolderName reports whether a name is that of a single folder that is not hidden.
func isFolderName(name string) bool {
	return fs.ValidPath(name) && !strings.ContainsAny(name, `/\`) && name[0] != '.'
}

// ReadFrom reads a review twin. The function open returns the content of a file by its path below
// the twin's folder. ReadFrom fails if a file is missing or has a line that no twin has; the error
// names the file.
func ReadFrom(open func(name string) ([]byte, error)) (*change.Cluster, error) {
	r := &reader{open: open, folders: map[string]map[change.Key]*change.Entry{}}
	index, err := open(IndexFile)
	if err != nil {
		return nil, err
	}
	c, rest, err := readIndex(index)
	if err != nil {
		return nil, err
	}
	entries, err := r.entries("", rest)
	if err != nil {
		return nil, err
	}
	c.Entries = slices.SortedFunc(maps.Values(entries), compareEntries)
	all := 0
	for _, m := range c.Machines {
		entries, err := r.folder(plan.Folder(m.Name, m.Pool))
		if err != nil {
			return nil, err
		}
		if all += len(entries); all > maxEntries {
			return nil, fmt.Errorf("%s: the machines have more than %d entries together: this is "+
				"no review twin", IndexFile, maxEntries)
		}
		m.Entries = slices.SortedFunc(maps.Values(entries), compareEntries)
	}
	return c, nil
}

// maxEntries is how many entries the machines of a twin may have together. Those of a shared folder
// count for each machine: few bytes stand for very many. Five thousand machines have some 500,000.
const maxEntries = 2_000_000

// readIndex reads the INDEX of a whole twin: the cluster, and its machines without entries. It also
// returns the other lines, which are entries of the cluster.
func readIndex(index []byte) (c *change.Cluster, rest []string, err error) {
	c = &change.Cluster{}
	seen := map[string]bool{} // the folders of machines
	for i, line := range wording.SplitLines(index) {
		words := strings.Fields(line)
		switch {
		case i == 0:
			if _, err := fmt.Sscanf(line, firstLine, &c.Name, &c.UUID, &c.Version); err != nil {
				return nil, nil, fmt.Errorf("%s: not the %s of a review twin", IndexFile, IndexFile)
			}
		case strings.HasPrefix(line, "cluster "):
			name, value, _ := strings.Cut(strings.TrimPrefix(line, "cluster "), ": ")
			c.Properties = append(c.Properties, change.Property{Name: name, Value: value})
		case len(words) > 6 && (words[0] == "node" || words[0] == "pool"):
			// kiln prints names and versions in commands that people paste into a shell.
			if !config.IsMachineName(words[1]) {
				return nil, nil, fmt.Errorf("%s: line %d: %q is no name of a machine: "+
					"this is no review twin", IndexFile, i+1, words[1])
			}
			m := &change.Machine{
				Pool: words[0] == "pool", Name: words[1], Role: words[2],
				OS: words[3], Platform: words[4], Format: words[5],
			}
			// One folder would count as many machines, and fill the memory.
			folder := plan.Folder(m.Name, m.Pool)
			if seen[folder] {
				return nil, nil, fmt.Errorf("%s: line %d: %s %s is there twice: "+
					"this is no review twin", IndexFile, i+1, words[0], m.Name)
			}
			seen[folder] = true
			for j := 6; j+1 < len(words); j += 2 {
				m.Properties = append(m.Properties,
					change.Property{Name: words[j], Value: words[j+1]})
			}
			if k := m.Properties.Value("kubelet"); k != "" && !version.MatchString(k) {
				return nil, nil, fmt.Errorf("%s: line %d: %q is no version of a kubelet: "+
					"this is no review twin", IndexFile, i+1, k)
			}
			c.Machines = append(c.Machines, m)
		default:
			rest = append(rest, line)
		}
	}
	return c, rest, nil
}

// version matches the versions that a kubelet can have.
var version = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+([.+-][0-9A-Za-z.+-]*)?$`)

// reader reads the folders of a twin, each once.
type reader struct {
	open    func(string) ([]byte, error)
	folders map[string]map[change.Key]*change.Entry
}

// folder returns the entries of a folder, together with those of the shared folders that its INDEX
// names.
func (r *reader) folder(dir string) (map[change.Key]*change.Entry, error) {
	if entries := r.folders[dir]; entries != nil {
		return entries, nil
	}
	name := path.Join(dir, IndexFile)
	text, err := r.open(name)
	if err != nil {
		return nil, err
	}
	all := map[change.Key]*change.Entry{}
	rest := wording.SplitLines(text)
	// The INDEX of a shared folder names no other folder.
	for len(rest) > 0 && !strings.HasPrefix(dir, sharedFolder+"/") {
		line := rest[0]
		base, with := strings.CutPrefix(line, "with "+sharedFolder+"/")
		with = with && base != "." && fs.ValidPath(base) && !strings.Contains(base, "/")
		words := strings.SplitN(line, " ", 3)
		without := words[0] == "without" && len(words) == 3
		if !with && !without {
			break
		}
		rest = rest[1:]
		if without {
			delete(all, change.Key{Kind: words[1], ID: words[2]})
			continue
		}
		shared, err := r.folder(path.Join(sharedFolder, base))
		if err != nil {
			return nil, err
		}
		maps.Copy(all, shared)
	}
	own, err := r.entries(dir, rest)
	if err != nil {
		return nil, err
	}
	maps.Copy(all, own)
	r.folders[dir] = all
	return all, nil
}

var (
	// fileLine matches a file or directory: kind, mode, owner, path, and the mark of its secret.
	fileLine = regexp.MustCompile(`^(file|dir) +(\S+) (\S+) (/.*?)(?: <secret ([^<>]*)>)?$`)
	// adminLine matches the operator's kubeconfig, which is on no machine: file name, server, mark.
	adminLine = regexp.MustCompile(`^file (\S+) (\S+) <secret ([^<>]*)>$`)
)

// entries reads the entries of an INDEX from its lines, and the contents of files from the folder.
// It fails for a line that is no entry, and if a file cannot be opened whose content stands nowhere
// else.
func (r *reader) entries(dir string, list []string) (map[change.Key]*change.Entry, error) {
	out := map[change.Key]*change.Entry{}
	for len(list) > 0 {
		head := list[0]
		n := 1
		for n < len(list) && strings.HasPrefix(list[n], indent) {
			n++
		}
		var below []string
		for _, line := range list[1:n] {
			below = append(below, strings.TrimPrefix(line, indent))
		}
		list = list[n:]
		e, ok := readEntry(head, below)
		if !ok {
			name := path.Join(dir, IndexFile)
			if yamltext.IsConflict([]byte(head)) {
				return nil, fmt.Errorf("%s: a merge conflict; kiln render --review writes the "+
					"twin anew", name)
			}
			return nil, fmt.Errorf("%s: %q is no line of a review twin", name, head)
		}
		if e.Kind == "file" && e.Secret == "" && dir != "" {
			content, err := r.open(dir + e.ID)
			if err != nil && len(e.Shown) == 0 {
				return nil, fmt.Errorf("%s names %s: %w", path.Join(dir, IndexFile), e.ID, err)
			}
			if err := checkSize(e.ID, content); err != nil {
				return nil, fmt.Errorf("%s:%w; kiln wrote no such file: render the twin anew",
					dir+e.ID, err)
			}
			if err == nil {
				// The lines below a file with a content repeat what the content says.
				e.Content, e.Shown = append([]byte{}, content...), nil
			}
		}
		out[e.Key] = e
	}
	return out, nil
}

// checkSize fails if the content of a file at a path on a machine is YAML, and reading it would
// take long.
func checkSize(path string, content []byte) error {
	row := layout.FileAt(path)
	if row == nil || row.Form != layout.YAML && row.Form != layout.Object {
		return nil
	}
	return yamltext.Object.Check(content)
}

// readEntry reads one entry of an INDEX from its line and the lines below it. It reports false if
// the line is no entry.
func readEntry(head string, below []string) (e *change.Entry, ok bool) {
	words := strings.Fields(head)
	if len(words) == 0 {
		return nil, false
	}
	entry := func(kind, id string, traits map[string]string) *change.Entry {
		return &change.Entry{Key: change.Key{Kind: kind, ID: id}, Traits: traits, Shown: below}
	}
	switch kind := words[0]; {
	case fileLine.MatchString(head):
		m := fileLine.FindStringSubmatch(head)
		e = entry(m[1], m[4], map[string]string{"mode": m[2], "owner": m[3]})
		e.Secret = m[5]
		return e, true
	case adminLine.MatchString(head):
		m := adminLine.FindStringSubmatch(head)
		e = entry("file", m[1], map[string]string{"server": m[2]})
		e.Secret = m[3]
		return e, true
	case kind == "user" && len(words) == 4:
		return entry(kind, words[1], map[string]string{"number": words[2], "home": words[3]}), true
	case kind == "link":
		name, target, ok := strings.Cut(strings.TrimPrefix(head, "link "), " -> ")
		return entry(kind, name, map[string]string{"target": target}), ok
	case kind == "unit" && len(words) > 1:
		return entry(kind, words[1], map[string]string{"state": strings.Join(words[2:], " ")}), true
	case kind == "key":
		return entry(kind, strings.TrimSpace(strings.TrimPrefix(head, "key")), nil), true
	case kind == "network-config" || kind == "ignition" || kind == "cloud-config":
		e = entry(kind, "", nil)
		e.Content, e.Shown = []byte(strings.Join(below, "\n")+"\n"), nil
		return e, true
	}
	return nil, false
}

func compareEntries(a, b *change.Entry) int { return a.Compare(b.Key) }

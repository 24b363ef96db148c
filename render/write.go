package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"kiln/render/change"
)

// Inventory is inventory.json: what the output folder holds. It is written last, so that a run cut off between
// renames shows: its hashes then do not match.
type Inventory struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Name       string  `json:"name"`
	Cluster    string  `json:"cluster"` // the bundle's UUID
	Kubernetes string  `json:"kubernetesVersion"`
	Facts      []Fact  `json:"facts"`
	Documents  []Entry `json:"documents"`
}

// Names of files in the output folder.
const (
	InventoryFile = "inventory.json"
	AdminFile     = "admin.conf"
)

// Result says what a run did, or would do.
type Result struct {
	// Inventory and Changes are of the documents' folder.
	Inventory Inventory
	Changes
	// Review is of the review twin.
	Review Changes
}

// Options say what Write writes, and how.
type Options struct {
	// Review is the folder of the review twin; empty for none.
	Review string
	// Check writes nothing: the result says what would change.
	Check bool
	// BeforeCommit runs when everything is rendered, checked and on disk under a temporary name, before the first
	// file gets its own. An error from it leaves the folders as they were.
	BeforeCommit func() error
	// Progress is called after each machine with how many are done.
	Progress func(done int)
}

// ErrPartial is the cause when renaming failed half way: some files are new, some old, and the inventory does not match.
var ErrPartial = errors.New("the folder holds old and new files; run the same render again")

// ErrForeign is the cause when a folder belongs to another cluster, or to something else.
var ErrForeign = errors.New("the folder holds the documents of another cluster")

// Write renders every machine of the cluster: its document into the folder out, unless that is empty, and the review twin into
// another. First all files get temporary names, synced, then come the renames, the inventory last. A run that fails leaves the
// folders as they were. Without the bundle only the twin can be written.
func (r *Cluster) Write(out string, o Options) (*Result, error) {
	if r.Bundle == nil && out != "" {
		return nil, errors.New("documents hold secrets; only the review twin is made from the public half alone")
	}
	w := &writer{cluster: r, out: out, options: o}
	if out != "" {
		w.documents = &folder{dir: out, mode: 0o600, check: o.Check, last: InventoryFile}
	}
	if o.Review != "" {
		var err error
		if w.twin, err = r.twin(); err != nil {
			return nil, err
		}
		w.review = &folder{dir: o.Review, mode: 0o644, check: o.Check, last: IndexFile, diff: o.Check}
	}
	return w.run()
}

// ReadInventory returns the inventory of an output folder, or nil if there is none.
func ReadInventory(out string) (*Inventory, error) {
	data, err := os.ReadFile(filepath.Join(out, InventoryFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var inv Inventory
	if err := json.Unmarshal(data, &inv); err != nil {
		return nil, fmt.Errorf("%s: not an inventory of kiln: %w", filepath.Join(out, InventoryFile), err)
	}
	return &inv, nil
}

// WriteFiles writes files with secrets into the folder dir (0700, if it has to be made; the files 0600), all of them or none, and removes
// what stale then says. The file called last, if there is one, gets its name when all others have theirs. All errors of files come back at once.
func WriteFiles(dir string, files iter.Seq2[Output, error], last string, stale func() []string) (*Changes, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: not a folder", dir)
	}
	f := &folder{dir: dir, mode: 0o600, last: last}
	if err := f.open(); err != nil {
		return nil, err
	}
	defer f.close()
	var errs []error
	for file, err := range files {
		if err == nil && len(errs) == 0 {
			err = f.stage(file.Name, file.Data)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if err := joined(errs); err != nil {
		return nil, err
	}
	if stale != nil {
		f.removed = stale()
	}
	if err := f.sync(); err != nil {
		return nil, err
	}
	if err := f.commit(); err != nil {
		return nil, err
	}
	c := f.changes()
	return &c, nil
}

// writer is one run of Write.
type writer struct {
	cluster           *Cluster
	out               string
	options           Options
	documents, review *folder // nil if they are not wanted
	twin              *twin   // with review
	before            *Inventory

	mu     sync.Mutex
	done   int
	result Result
}

func (w *writer) run() (*Result, error) {
	for _, dir := range []string{w.options.Review, w.out} {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return nil, fmt.Errorf("%s: not a folder", dir)
		}
	}
	var folders []*folder
	if w.documents != nil {
		if err := w.openDocuments(); err != nil {
			return nil, err
		}
		folders = append(folders, w.documents)
		defer w.documents.close()
	}
	if w.review != nil {
		if err := w.openTwin(); err != nil {
			return nil, err
		}
		folders = append(folders, w.review)
		defer w.review.close()
	}
	entries, err := w.machines()
	if err != nil {
		return nil, err
	}
	if w.documents != nil {
		if err := w.finishDocuments(entries); err != nil {
			return nil, err
		}
	}
	if w.review != nil {
		if err := w.finishTwin(); err != nil {
			return nil, err
		}
	}
	if !w.options.Check {
		if err := w.commit(folders); err != nil {
			return nil, err
		}
	}
	if w.documents != nil {
		w.result.Changes = w.documents.changes()
	}
	if w.review != nil {
		w.result.Review = w.review.changes()
	}
	return &w.result, nil
}

func (w *writer) commit(folders []*folder) error {
	for _, f := range folders {
		if err := f.sync(); err != nil {
			return err
		}
	}
	if w.options.BeforeCommit != nil {
		if err := w.options.BeforeCommit(); err != nil {
			return err
		}
	}
	for _, f := range folders {
		if err := f.commit(); err != nil {
			return err
		}
	}
	return nil
}

// openDocuments opens the documents' folder, unless it is another cluster's.
func (w *writer) openDocuments() error {
	var err error
	if w.before, err = ReadInventory(w.documents.dir); err != nil {
		return err
	}
	if w.before != nil && w.before.Cluster != w.cluster.Public.Cluster {
		return fmt.Errorf("%s: %w: %s (%s), and this is %s (%s); name another folder with --out", w.documents.dir, ErrForeign,
			w.before.Name, w.before.Cluster, w.cluster.Plan.Name, w.cluster.Public.Cluster)
	}
	return w.documents.open()
}

// finishDocuments stages what belongs to all machines, and finds what is no longer rendered.
func (w *writer) finishDocuments(entries []Entry) error {
	admin, err := w.cluster.Admin()
	if err != nil {
		return err
	}
	if err := w.documents.stage(AdminFile, admin); err != nil {
		return err
	}
	w.result.Inventory = Inventory{
		APIVersion: "kiln.dev/v1alpha1", Kind: "Inventory", Name: w.cluster.Plan.Name, Cluster: w.cluster.Public.Cluster,
		Kubernetes: w.cluster.Plan.Version, Facts: w.cluster.overview(), Documents: entries,
	}
	inventory, err := json.MarshalIndent(w.result.Inventory, "", "  ")
	if err != nil {
		return err
	}
	w.stale()
	return w.documents.stage(InventoryFile, append(inventory, '\n'))
}

// machines renders all machines, as many at a time as there are processors, and stages their files. Its entries are in
// the plan's order. The first error in that order is returned.
func (w *writer) machines() ([]Entry, error) {
	n := w.cluster.Machines()
	entries := make([]Entry, n)
	errs := make([]error, n)
	next := make(chan int)
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := range next {
				entries[i], errs[i] = w.machine(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	return entries, joined(errs)
}

// joined makes one error of those of several machines, and bounds how many are shown: one mistake often repeats on every
// machine.
func joined(errs []error) error {
	var out []error
	more := 0
	for _, err := range errs {
		switch {
		case err == nil:
		case len(out) < 10:
			out = append(out, err)
		default:
			more++
		}
	}
	if more > 0 {
		out = append(out, fmt.Errorf("and %d more machines with errors", more))
	}
	return errors.Join(out...)
}

func (w *writer) machine(i int) (entry Entry, err error) {
	n, err := w.cluster.checked(i)
	if err != nil {
		return Entry{}, err
	}
	if w.documents != nil {
		d, err := w.cluster.packed(i, n)
		if err != nil {
			return Entry{}, err
		}
		for _, f := range d.Files {
			if err := w.documents.stage(path.Join(d.Dir, f.Name), f.Data); err != nil {
				return Entry{}, err
			}
		}
		entry = d.Entry
	}
	if w.twin != nil {
		if err := w.twin.add(i, n); err != nil {
			return Entry{}, fmt.Errorf("%s %s: %w", kindOf(&w.cluster.Plan.Machines[i]), n.Name, err)
		}
	}
	w.mu.Lock()
	w.done++
	if w.options.Progress != nil {
		w.options.Progress(w.done)
	}
	w.mu.Unlock()
	return entry, nil
}

// stale finds the documents that the last inventory lists and this one does not.
func (w *writer) stale() {
	if w.before == nil {
		return
	}
	now := map[string]bool{}
	for _, e := range w.result.Inventory.Documents {
		for _, name := range e.paths() {
			now[name] = true
		}
	}
	for _, e := range w.before.Documents {
		for _, name := range e.paths() {
			if !now[name] && fs.ValidPath(name) {
				w.documents.removed = append(w.documents.removed, name)
			}
		}
	}
}

// openTwin opens the twin's folder, unless it is another cluster's or holds something else: what is in the folders of machines and is not
// rendered will be removed.
func (w *writer) openTwin() error {
	dir := w.review.dir
	there, err := readTwin(dir)
	switch {
	case err != nil:
		return err
	case there != nil && there.cluster != w.cluster.Public.Cluster:
		return fmt.Errorf("%s: %w: %s (%s), and this is %s (%s); name another folder with --review", dir, ErrForeign,
			there.name, there.cluster, w.cluster.Plan.Name, w.cluster.Public.Cluster)
	case there != nil:
		w.review.own = there.folders
	}
	return w.review.open()
}

// twinThere is what a twin's INDEX says: which cluster it is of, and the folders that are the twin's.
type twinThere struct {
	name, cluster string
	folders       []string
}

// readTwin returns what lies in a twin's folder; nil if it is empty or not there. A folder of something else is an error.
func readTwin(dir string) (*twinThere, error) {
	index, err := os.ReadFile(filepath.Join(dir, IndexFile))
	if errors.Is(err, fs.ErrNotExist) {
		files, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(files) == 0 {
			return nil, nil
		}
		if err == nil {
			err = fmt.Errorf("%s: not empty and not a review twin: it has no %s; name a new folder with --review", dir, IndexFile)
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	there, version := &twinThere{}, ""
	if _, err := fmt.Sscanf(string(index), change.Mark, &there.name, &there.cluster, &version); err != nil {
		return nil, fmt.Errorf("%s: not the %s of a review twin; name a new folder with --review", filepath.Join(dir, IndexFile), IndexFile)
	}
	for line := range strings.Lines(string(index)) {
		switch words := strings.Fields(line); {
		case len(words) < 2 || !fs.ValidPath(words[1]) || strings.ContainsAny(words[1], "/\\") || words[1][0] == '.':
		case words[0] == "node":
			there.folders = append(there.folders, words[1])
		case words[0] == "pool":
			there.folders = append(there.folders, path.Join("pools", words[1]))
		}
	}
	return there, nil
}

// finishTwin stages the twin, and finds what is no longer rendered: all else in the folders of machines.
func (w *writer) finishTwin() error {
	files := w.twin.files()
	w.review.own = append(w.review.own, sharedFolder)
	for i := range w.twin.heads {
		w.review.own = append(w.review.own, w.twin.heads[i].folder())
	}
	if err := w.review.sweep(func(name string) bool { _, rendered := files[name]; return rendered }); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.review.stage(name, files[name]); err != nil {
			return err
		}
	}
	return nil
}

// Write writes the machine's files below a new folder, its owner's alone, and an INDEX that tells modes, owners, links and units. It returns how many of
// them are secrets. A document with paths that lead elsewhere, or that no folder can hold, is refused, and nothing of it stays.
func (u *Unpacked) Write(dir string) (secrets int, err error) {
	taken := map[string]bool{"/" + IndexFile: true}
	for _, f := range u.node.Files {
		if !path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "/" {
			return 0, fmt.Errorf("file %q: not an absolute, clean path: this is no document of kiln's; list it without --out", f.Path)
		}
		if taken[f.Path] {
			return 0, fmt.Errorf("file %q: the path is used twice, or is that of the list of files; list the document without --out", f.Path)
		}
		taken[f.Path] = true
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, fmt.Errorf("%w; name a new folder", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer func() { _ = root.Close() }()
	write := func(name string, content []byte) error {
		return errors.Join(root.MkdirAll(path.Dir(name), 0o700), root.WriteFile(name, content, 0o600))
	}
	for i := range u.node.Files {
		f := &u.node.Files[i]
		content, secret := u.content(f)
		if secret {
			secrets++
		}
		if err := write(strings.TrimPrefix(f.Path, "/"), content); err != nil {
			return 0, errors.Join(err, os.RemoveAll(dir))
		}
	}
	if err := write(IndexFile, u.List()); err != nil {
		return 0, errors.Join(err, os.RemoveAll(dir))
	}
	return secrets, nil
}

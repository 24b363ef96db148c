package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
)

// Inventory is inventory.json: what the output folder holds. It is written last, so that a run cut off between
// renames shows: its hashes then do not match.
type Inventory struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Name       string  `json:"name"`
	Cluster    string  `json:"cluster"` // the bundle's UUID
	Kubernetes string  `json:"kubernetesVersion"`
	Documents  []Entry `json:"documents"`
}

// Names of files in the output folder.
const (
	InventoryFile = "inventory.json"
	AdminFile     = "admin.conf"
	tempSuffix    = ".kiln-new"
)

// Result says what a run did, or would do.
type Result struct {
	Inventory Inventory
	Written   []string // paths below the output folder whose content is new or has changed
	Removed   []string // documents of machines that the configuration no longer has
	Unchanged int
}

// Changed says whether anything is different from what lay there.
func (r *Result) Changed() bool { return len(r.Written)+len(r.Removed) > 0 }

// Options say how Write works.
type Options struct {
	// Check writes nothing: the result says what would change.
	Check bool
	// BeforeCommit runs when every document is rendered, checked and on disk under a temporary name, before the first
	// of them gets its own. An error from it leaves the folder as it was.
	BeforeCommit func() error
	// Progress is called after each machine with how many are done.
	Progress func(done int)
}

// ErrPartial is the cause when renaming failed half way: some documents are new, some old, and the inventory does not match.
var ErrPartial = errors.New("the folder holds old and new documents; run the same render again")

// ErrForeign is the cause when the output folder belongs to another cluster.
var ErrForeign = errors.New("the folder holds the documents of another cluster")

// Write renders every machine of the cluster into the folder out: first all documents under temporary names (mode 0600,
// synced), then the renames, the inventory last. A run that fails leaves the folder as it was.
func (r *Cluster) Write(out string, o Options) (*Result, error) {
	w := &writer{cluster: r, dir: out, options: o}
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

// writer is one run of Write.
type writer struct {
	cluster *Cluster
	dir     string
	options Options
	root    *os.Root // nil while the folder does not exist

	mu     sync.Mutex
	staged []string // files that lie under their temporary name
	made   []string // folders that this run made, outermost first
	result Result
	done   int
}

func (w *writer) run() (*Result, error) {
	if info, err := os.Stat(w.dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: not a folder", w.dir)
	}
	before, err := ReadInventory(w.dir)
	if err != nil {
		return nil, err
	}
	if before != nil && before.Cluster != w.cluster.Bundle.Cluster {
		return nil, fmt.Errorf("%s: %w: %s (%s), and this is %s (%s); name another folder with --out", w.dir, ErrForeign,
			before.Name, before.Cluster, w.cluster.Plan.Name, w.cluster.Bundle.Cluster)
	}
	if err := w.open(); err != nil {
		return nil, err
	}
	if w.root != nil {
		defer func() { _ = w.root.Close() }()
		unlock, err := lock(w.dir)
		if err != nil {
			return nil, fmt.Errorf("%s: another kiln is writing there: %w", w.dir, err)
		}
		defer unlock()
	}
	defer w.rollBack()

	entries, err := w.documents()
	if err != nil {
		return nil, err
	}
	admin, err := w.cluster.Admin()
	if err != nil {
		return nil, err
	}
	if err := w.stage(AdminFile, admin); err != nil {
		return nil, err
	}
	w.result.Inventory = Inventory{
		APIVersion: "kiln.dev/v1alpha1", Kind: "Inventory", Name: w.cluster.Plan.Name, Cluster: w.cluster.Bundle.Cluster,
		Kubernetes: w.cluster.Plan.Version, Documents: entries,
	}
	inventory, err := json.MarshalIndent(w.result.Inventory, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := w.stage(InventoryFile, append(inventory, '\n')); err != nil {
		return nil, err
	}
	w.stale(before)
	slices.Sort(w.result.Written)
	if w.options.Check {
		return &w.result, nil
	}
	return &w.result, w.commit()
}

// open makes the output folder, if it has to be made, and opens it.
func (w *writer) open() error {
	_, err := os.Stat(w.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if w.options.Check {
			return nil
		}
		if err := w.makeAll(w.dir); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	w.root, err = os.OpenRoot(w.dir)
	return err
}

// makeAll makes a folder and those above it, and remembers them.
func (w *writer) makeAll(dir string) error {
	parent := filepath.Dir(dir)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		if err := w.makeAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	w.made = append(w.made, dir)
	return nil
}

// documents renders all machines, as many at a time as there are processors, and stages their files. Its entries are in
// the plan's order. The first error in that order is returned.
func (w *writer) documents() ([]Entry, error) {
	n := w.cluster.Machines()
	entries := make([]Entry, n)
	errs := make([]error, n)
	next := make(chan int)
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := range next {
				entries[i], errs[i] = w.document(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	return entries, errors.Join(firstErrors(errs)...)
}

// firstErrors bounds how many machines' errors are shown: one mistake often repeats on every machine.
func firstErrors(errs []error) (out []error) {
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
	return out
}

func (w *writer) document(i int) (Entry, error) {
	d, err := w.cluster.Document(i)
	if err != nil {
		return Entry{}, err
	}
	for _, f := range d.Files {
		if err := w.stage(path.Join(d.Dir, f.Name), f.Data); err != nil {
			return Entry{}, err
		}
	}
	w.mu.Lock()
	w.done++
	if w.options.Progress != nil {
		w.options.Progress(w.done)
	}
	w.mu.Unlock()
	return d.Entry, nil
}

// stage puts a file under its temporary name, unless what lies there is the same already.
func (w *writer) stage(name string, data []byte) error {
	if w.root != nil {
		if same, err := w.same(name, data); err != nil {
			return err
		} else if same {
			w.mu.Lock()
			w.result.Unchanged++
			w.mu.Unlock()
			return nil
		}
	}
	w.mu.Lock()
	w.result.Written = append(w.result.Written, name)
	w.mu.Unlock()
	if w.options.Check {
		return nil
	}
	if err := w.makeInside(path.Dir(name)); err != nil {
		return err
	}
	// A file of that name can only be left over from a run that was cut off.
	_ = w.root.Remove(name + tempSuffix)
	f, err := w.root.OpenFile(name+tempSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.staged = append(w.staged, name)
	w.mu.Unlock()
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// makeInside makes a folder below the output folder and remembers it.
func (w *writer) makeInside(dir string) error {
	if dir == "." {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.root.Stat(dir); err == nil {
		return nil
	}
	for i := range len(dir) + 1 {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		switch err := w.root.Mkdir(dir[:i], 0o700); {
		case err == nil:
			w.made = append(w.made, filepath.Join(w.dir, dir[:i]))
		case !errors.Is(err, fs.ErrExist):
			return err
		}
	}
	return nil
}

func (w *writer) same(name string, data []byte) (bool, error) {
	info, err := w.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("%s: not a regular file; remove it", filepath.Join(w.dir, name))
	}
	if info.Size() != int64(len(data)) || info.Mode().Perm() != 0o600 {
		return false, nil
	}
	old, err := w.root.ReadFile(name)
	return bytes.Equal(old, data), err
}

// stale finds the documents that the last inventory lists and this one does not.
func (w *writer) stale(before *Inventory) {
	if before == nil {
		return
	}
	now := map[string]bool{}
	for _, e := range w.result.Inventory.Documents {
		for _, name := range append(e.Others, e.Document) {
			now[name] = true
		}
	}
	for _, e := range before.Documents {
		for _, name := range append(e.Others, e.Document) {
			if !now[name] && fs.ValidPath(name) {
				w.result.Removed = append(w.result.Removed, name)
			}
		}
	}
	slices.Sort(w.result.Removed)
}

// commit gives every staged file its own name, the inventory last, and removes what is stale.
func (w *writer) commit() error {
	if err := syncFolder(w.dir); err != nil {
		return fmt.Errorf("%s: sync: %w", w.dir, err)
	}
	if w.options.BeforeCommit != nil {
		if err := w.options.BeforeCommit(); err != nil {
			return err
		}
	}
	w.made = nil
	slices.SortFunc(w.staged, func(a, b string) int {
		if (a == InventoryFile) != (b == InventoryFile) {
			if b == InventoryFile {
				return -1
			}
			return 1
		}
		return bytes.Compare([]byte(a), []byte(b))
	})
	for len(w.staged) > 0 {
		name := w.staged[0]
		if name == InventoryFile {
			if err := w.removeStale(); err != nil {
				return fmt.Errorf("%w: %w", ErrPartial, err)
			}
		}
		if err := w.root.Rename(name+tempSuffix, name); err != nil {
			return fmt.Errorf("%w: %w", ErrPartial, err)
		}
		w.staged = w.staged[1:]
	}
	return syncFolder(w.dir)
}

func (w *writer) removeStale() error {
	for _, name := range w.result.Removed {
		if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// The machine's folder goes with its last file; one with other people's files stays.
		_ = w.root.Remove(path.Dir(name))
	}
	return nil
}

// rollBack removes what lies under temporary names and the folders that this run made, unless all was committed.
func (w *writer) rollBack() {
	if w.root == nil {
		return
	}
	for _, name := range w.staged {
		_ = w.root.Remove(name + tempSuffix)
	}
	for _, dir := range slices.Backward(w.made) {
		_ = os.Remove(dir)
	}
}

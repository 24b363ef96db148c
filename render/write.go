package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"sync"
	"time"

	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/pack/document"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/review"
)

// Names of files in the output folder.
const (
	InventoryFile = document.InventoryFile
	AdminFile     = plan.AdminFile
)

// Result is what a run of Write wrote or, with Options.Check, would have written.
type Result struct {
	// Inventory and Changes belong to the folder of documents.
	Inventory document.Inventory
	Changes
	// Review belongs to the review twin.
	Review Changes
}

// Options are the options of Write.
type Options struct {
	// Review is the folder of the review twin; empty for none.
	Review string
	// Now is the time of the run: Write fails if a document has ended by then. The zero time means
	// that documents may have ended.
	Now time.Time
	// Check writes nothing. The result holds the changes that a run without it would make.
	Check bool
	// BeforeCommit is called when everything is rendered, checked and on disk under temporary
	// names, before the first file is renamed. An error from it leaves the folders as they were.
	BeforeCommit func(*Result) error
	// Progress is called after each machine, with the number of machines done.
	Progress func(done int)
}

// ErrPartial is in the chain of an error if renaming failed half way: some files are new, some are
// old, and the inventory does not match.
var ErrPartial = folder.ErrPartial

// Changes lists what a run changed in a folder, or would change.
type Changes struct {
	folder.Changes
	// Diffs holds the first differences of the review twin with Options.Check. It is empty
	// otherwise, because a difference of documents would show secrets.
	Diffs []Diff
	// Unlisted are paths in the twin that a run neither writes nor removes, and that do not belong
	// there. Write does not look for them.
	Unlisted []string
}

// ErrForeign is in the chain of an error if a folder belongs to another cluster.
var ErrForeign = errors.New("the folder belongs to another cluster")

// Write renders and checks every machine of the cluster. It writes the documents into the folder
// out, unless out is empty, and the review twin into Options.Review. All files are first written
// and synced under temporary names and then renamed: first those of out, its inventory last, and
// then those of the twin. A run that fails leaves the folders as they were, unless the error is
// ErrPartial. Without the bundle Write can write only the twin.
func (r *Cluster) Write(out string, o Options) (*Result, error) {
	if r.Bundle == nil && out != "" {
		return nil, errors.New("documents hold secrets; " +
			"only the review twin is made from the public half alone")
	}
	if out != "" {
		if err := r.checkEnds(o.Now); err != nil {
			return nil, err
		}
	}
	w := &writer{cluster: r, out: out, options: o}
	if o.Review != "" {
		var err error
		if w.twin, err = review.NewTwin(r.Cluster); err != nil {
			return nil, err
		}
	}
	return w.run()
}

// writer is one run of Write.
type writer struct {
	cluster           *Cluster
	out               string
	options           Options
	documents, review *folder.Folder // nil if this run does not write them
	twin              *review.Twin   // nil if this run makes none
	diffs             []Diff         // of the twin, with Options.Check
	try               bool           // documents are packed and thrown away

	mu     sync.Mutex
	done   int
	result Result
}

// run opens the folders, renders every machine into them and renames the files.
func (w *writer) run() (*Result, error) {
	var folders []*folder.Folder
	if w.out != "" {
		if err := w.openDocuments(); err != nil {
			return nil, err
		}
		folders = append(folders, w.documents)
		defer w.documents.Close()
	}
	if w.twin != nil {
		if err := w.openTwin(); err != nil {
			return nil, err
		}
		folders = append(folders, w.review)
		defer w.review.Close()
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
		w.result.Changes.Changes = w.documents.Changes()
	}
	if w.review != nil {
		w.result.Review = Changes{Changes: w.review.Changes(), Diffs: w.diffs}
	}
	return &w.result, nil
}

// commit renames the files of all folders, after they are all on disk and BeforeCommit agrees.
func (w *writer) commit(folders []*folder.Folder) error {
	for _, f := range folders {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if w.options.BeforeCommit != nil {
		if err := w.options.BeforeCommit(&w.result); err != nil {
			return err
		}
	}
	for _, f := range folders {
		if err := f.Commit(); err != nil {
			return fmt.Errorf("%s: %w", f.Dir, err)
		}
	}
	return nil
}

// openDocuments opens the folder of documents. It fails if the folder belongs to another cluster or
// holds other files than documents.
func (w *writer) openDocuments() (err error) {
	w.documents, err = folder.Open(folder.Options{
		Dir: w.out, Mode: 0o600, Check: w.options.Check,
		What: "a folder of kiln render", Flag: "--out",
		List: InventoryFile, Paths: func(list []byte) ([]string, error) {
			name := filepath.Join(w.out, InventoryFile)
			inv, err := document.ParseInventory(name, list)
			if err != nil {
				return nil, err
			}
			if inv.Cluster != w.cluster.Public.Cluster {
				err = w.foreign(w.out, inv.Name, inv.Cluster, "--out")
			}
			return inv.Paths(), err
		},
		Makes: document.IsPath,
	})
	return err
}

// foreign returns the error for a folder that belongs to the cluster of that name and ID.
func (w *writer) foreign(dir, name, id, flag string) error {
	return fmt.Errorf("%s: %w: %s (%s), and the bundle is that of %s (%s); "+
		"name the bundle of the folder's cluster with --secrets, or another folder with %s",
		dir, ErrForeign, name, id, w.cluster.Plan.Name, w.cluster.Public.Cluster, flag)
}

// finishDocuments stages the files that belong to all machines, and marks the files that are no
// longer rendered.
func (w *writer) finishDocuments(entries []document.Entry) error {
	admin, err := w.cluster.Admin()
	if err != nil {
		return err
	}
	if err := w.documents.Stage(plan.AdminFile, admin); err != nil {
		return err
	}
	w.result.Inventory = document.Inventory{
		APIVersion: document.InventoryVersion, Kind: document.InventoryKind,
		Name: w.cluster.Plan.Name, Cluster: w.cluster.Public.Cluster,
		Kubernetes: w.cluster.Plan.Version,
		Facts:      append(w.cluster.Plan.Overview(), w.cluster.Public.Facts()...),
		Roots:      w.cluster.Bundle.Fingerprints(),
		Documents:  entries,
	}
	inventory, err := json.MarshalIndent(w.result.Inventory, "", "  ")
	if err != nil {
		return err
	}
	if err := w.documents.MarkStale(); err != nil {
		return err
	}
	return w.documents.Stage(InventoryFile, append(inventory, '\n'))
}

// machines renders all machines concurrently, and stages their files. The entries are in the plan's
// order.
func (w *writer) machines() ([]document.Entry, error) {
	entries := make([]document.Entry, w.cluster.Machines())
	err := concurrently(len(entries), func(i int) (err error) {
		entries[i], err = w.machine(i)
		return err
	})
	return entries, err
}

// stage stages the files of a document, if this run writes documents.
func (w *writer) stage(d *document.Document) error {
	if w.documents == nil {
		return nil
	}
	for _, f := range d.Files {
		if err := w.documents.Stage(path.Join(d.Dir, f.Name), f.Data); err != nil {
			return err
		}
	}
	return nil
}

// machine renders the i-th machine of the plan and stages its files.
func (w *writer) machine(i int) (entry document.Entry, err error) {
	defer w.count()
	n, err := w.cluster.checked(i)
	if err != nil {
		return document.Entry{}, err
	}
	if w.documents != nil || w.try {
		d, err := w.cluster.packer.Pack(&w.cluster.Plan.Machines[i], n)
		if err != nil {
			return document.Entry{}, err
		}
		if err := w.stage(d); err != nil {
			return document.Entry{}, err
		}
		entry = d.Entry
	}
	if w.twin != nil {
		if err := w.twin.Add(i, n); err != nil {
			kind := w.cluster.Plan.Machines[i].Kind()
			return document.Entry{}, fmt.Errorf("%s %s: %w", kind, n.Name, err)
		}
	}
	return entry, nil
}

// count reports one more machine.
func (w *writer) count() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done++
	if w.options.Progress != nil {
		w.options.Progress(w.done)
	}
}

// Package ledger remembers which machine fetched which document, and what machines announced, in
// memory and on disk. It leaves HTTP, and who may fetch what, to package serve.
package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"kiln/cmd/kiln/announce"
	"kiln/render/folder"
)

// The head of the state's file, and a bound for its size.
const (
	stateVersion = "kiln.dev/v1alpha1"
	stateKind    = "Served"
	maxState     = 64 << 20
)

// Fetch says that a machine has fetched a document.
type Fetch struct {
	Path    string    `json:"path"`              // of the document's URL, also for an initrd
	Node    string    `json:"node"`              // the name of the node or pool
	Machine string    `json:"machine,omitempty"` // the machine of a pool
	SHA256  string    `json:"sha256"`            // of the document: a change makes another one
	Time    time.Time `json:"time"`
	Remote  string    `json:"remote"`
}

// Ledger holds all fetches, in memory and on disk.
type Ledger struct {
	path, cluster string

	mu      sync.Mutex
	fetches []Fetch
	version int             // the number of changes
	board   *announce.Board // what the machines announced

	disk    sync.Mutex
	file    *folder.Owned
	written int // the version on disk
}

// stateFile is the state as it is stored.
type stateFile struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Cluster    string  `json:"cluster"`
	Fetches    []Fetch `json:"fetches"`
	// Announced has the last state of each machine that announced one.
	Announced []announce.Row `json:"announced,omitempty"`
}

// Open reads the ledger of a cluster from the file path. If there is none, it returns an empty one.
// A pool may have poolLimit machines that announce. It fails if another server has the file, if
// path is a link or not a regular file, or if it holds something else or another cluster's ledger.
func Open(path, cluster string, poolLimit int) (*Ledger, error) {
	l := &Ledger{path: path, cluster: cluster}
	var err error
	if l.file, err = folder.Own(path); err == nil {
		err = l.read(poolLimit)
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("%w; name another file with --state", err)
	}
	return l, nil
}

// read reads the state from its file, if there is one.
func (l *Ledger) read(poolLimit int) error {
	l.board = announce.New(l.cluster, poolLimit, nil)
	data, err := folder.ReadNoLink(l.path, maxState)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	var f stateFile
	if json.Unmarshal(data, &f) != nil || f.APIVersion != stateVersion || f.Kind != stateKind {
		return fmt.Errorf("%s: not a state of kiln serve", l.path)
	}
	if f.Cluster != l.cluster {
		return fmt.Errorf("%s: remembers the documents of another cluster (%s)", l.path, f.Cluster)
	}
	l.fetches, l.board = f.Fetches, announce.New(l.cluster, poolLimit, f.Announced)
	return nil
}

// Board returns what the machines announced. After it has changed, call Change.
func (l *Ledger) Board() *announce.Board { return l.board }

// Close lets another server have the file.
func (l *Ledger) Close() {
	if l.file != nil {
		_ = l.file.Close()
	}
}

// Forget removes the fetches of some machines and pools and what they announced, and writes the
// state to disk.
func (l *Ledger) Forget(nodes []string) error {
	folder.Tidy(l.path)
	l.board.Forget(nodes)
	l.mu.Lock()
	l.fetches = slices.DeleteFunc(l.fetches, func(f Fetch) bool {
		return slices.Contains(nodes, f.Node)
	})
	l.version++
	l.mu.Unlock()
	return l.save()
}

// Find returns an earlier fetch of the same document by the same machine, or nil.
func (l *Ledger) Find(f *Fetch) *Fetch {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.fetches {
		if b := &l.fetches[i]; b.Path == f.Path && b.Machine == f.Machine && b.SHA256 == f.SHA256 {
			before := *b
			return &before
		}
	}
	return nil
}

// Count returns the number of machines that have fetched the document.
func (l *Ledger) Count(f *Fetch) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.fetches {
		if b := &l.fetches[i]; b.Path == f.Path && b.SHA256 == f.SHA256 {
			n++
		}
	}
	return n
}

// Machines returns the number of machines that have fetched the document from an address for which
// same is true.
func (l *Ledger) Machines(f *Fetch, same func(remote string) bool) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.fetches {
		b := &l.fetches[i]
		if b.Path == f.Path && b.SHA256 == f.SHA256 && same(b.Remote) {
			n++
		}
	}
	return n
}

// IsFetched reports whether somebody has fetched a document at a path, with any content.
func (l *Ledger) IsFetched(path string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.fetches, func(f Fetch) bool { return f.Path == path })
}

// Add adds a fetch, and writes the state to disk.
func (l *Ledger) Add(f Fetch) error {
	l.mu.Lock()
	l.fetches = append(l.fetches, f)
	l.version++
	l.mu.Unlock()
	return l.save()
}

// Change writes the state to disk after the board has changed.
func (l *Ledger) Change() error {
	l.mu.Lock()
	l.version++
	l.mu.Unlock()
	return l.save()
}

// save writes the whole state to disk. If several saves wait, the first one writes for all.
func (l *Ledger) save() error {
	l.mu.Lock()
	mine := l.version
	l.mu.Unlock()
	l.disk.Lock()
	defer l.disk.Unlock()
	if l.written >= mine {
		return nil
	}
	l.mu.Lock()
	version := l.version
	file := stateFile{
		stateVersion, stateKind, l.cluster, append([]Fetch{}, l.fetches...), l.board.Rows(),
	}
	data, err := json.MarshalIndent(file, "", "  ")
	l.mu.Unlock()
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if err := l.file.Replace(data, 0o600); err != nil {
		return fmt.Errorf("%s: the state cannot be kept: %w", l.path, err)
	}
	l.written = version
	return nil
}

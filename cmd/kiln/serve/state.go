package serve

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

// fetch says that a machine has fetched a document.
type fetch struct {
	Path    string    `json:"path"`              // of the document's URL, also for an initrd
	Node    string    `json:"node"`              // the name of the node or pool
	Machine string    `json:"machine,omitempty"` // the machine of a pool
	SHA256  string    `json:"sha256"`            // of the document: a change makes another one
	Time    time.Time `json:"time"`
	Remote  string    `json:"remote"`
}

// state holds all fetches, in memory and on disk.
type state struct {
	path, cluster string

	mu      sync.Mutex
	fetches []fetch
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
	Fetches    []fetch `json:"fetches"`
	// Announced has the last state of each machine that announced one.
	Announced []announce.Row `json:"announced,omitempty"`
}

// openState reads the state in the file path. If there is none, it returns an empty state. A pool
// may have poolLimit machines that announce. It fails if another server has the file, if path is a
// link or not a regular file, or if it holds something else or another cluster's state.
func openState(path, cluster string, poolLimit int) (*state, error) {
	s := &state{path: path, cluster: cluster}
	var err error
	if s.file, err = folder.Own(path); err == nil {
		err = s.read(poolLimit)
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("%w; name another file with --state", err)
	}
	return s, nil
}

// read reads the state from its file, if there is one.
func (s *state) read(poolLimit int) error {
	s.board = announce.New(s.cluster, poolLimit, nil)
	data, err := folder.ReadNoLink(s.path, maxState)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	var f stateFile
	if json.Unmarshal(data, &f) != nil || f.APIVersion != stateVersion || f.Kind != stateKind {
		return fmt.Errorf("%s: not a state of kiln serve", s.path)
	}
	if f.Cluster != s.cluster {
		return fmt.Errorf("%s: remembers the documents of another cluster (%s)", s.path, f.Cluster)
	}
	s.fetches, s.board = f.Fetches, announce.New(s.cluster, poolLimit, f.Announced)
	return nil
}

// close lets another server have the file.
func (s *state) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

// forget removes the fetches of some machines and pools and what they announced, and writes the
// state to disk.
func (s *state) forget(nodes []string) error {
	folder.Tidy(s.path)
	s.board.Forget(nodes)
	s.mu.Lock()
	s.fetches = slices.DeleteFunc(s.fetches, func(f fetch) bool {
		return slices.Contains(nodes, f.Node)
	})
	s.version++
	s.mu.Unlock()
	return s.save()
}

// find returns an earlier fetch of the same document by the same machine, or nil.
func (s *state) find(f *fetch) *fetch {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.fetches {
		if b := &s.fetches[i]; b.Path == f.Path && b.Machine == f.Machine && b.SHA256 == f.SHA256 {
			before := *b
			return &before
		}
	}
	return nil
}

// count returns the number of machines that have fetched the document.
func (s *state) count(f *fetch) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.fetches {
		if b := &s.fetches[i]; b.Path == f.Path && b.SHA256 == f.SHA256 {
			n++
		}
	}
	return n
}

// machines returns the number of machines at the same address that have fetched the document.
func (s *state) machines(f *fetch) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := peer(f.Remote)
	for i := range s.fetches {
		b := &s.fetches[i]
		if b.Path == f.Path && b.SHA256 == f.SHA256 && peer(b.Remote) == at {
			n++
		}
	}
	return n
}

// isFetched reports whether somebody has fetched a document at a path, with any content.
func (s *state) isFetched(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.fetches, func(f fetch) bool { return f.Path == path })
}

// add adds a fetch, and writes the state to disk.
func (s *state) add(f fetch) error {
	s.mu.Lock()
	s.fetches = append(s.fetches, f)
	s.version++
	s.mu.Unlock()
	return s.save()
}

// change writes the state to disk after the board has changed.
func (s *state) change() error {
	s.mu.Lock()
	s.version++
	s.mu.Unlock()
	return s.save()
}

// save writes the whole state to disk. If several saves wait, the first one writes for all.
func (s *state) save() error {
	s.mu.Lock()
	mine := s.version
	s.mu.Unlock()
	s.disk.Lock()
	defer s.disk.Unlock()
	if s.written >= mine {
		return nil
	}
	s.mu.Lock()
	version := s.version
	file := stateFile{
		stateVersion, stateKind, s.cluster, append([]fetch{}, s.fetches...), s.board.Rows(),
	}
	data, err := json.MarshalIndent(file, "", "  ")
	s.mu.Unlock()
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if err := s.file.Replace(data, 0o600); err != nil {
		return fmt.Errorf("%s: the state cannot be kept: %w", s.path, err)
	}
	s.written = version
	return nil
}

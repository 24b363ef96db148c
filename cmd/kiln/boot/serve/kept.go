package serve

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"kiln.dev/kiln/render/folder"
)

// kept is a file that this process alone writes, as a whole after each change.
type kept struct {
	path    string
	limit   int                       // bytes that can be read
	content func(*bytes.Buffer) error // writes what it is to hold

	changes atomic.Int64

	disk    sync.Mutex
	file    *folder.Owned
	spare   reserve
	buffer  bytes.Buffer
	written int64 // the changes that are on disk
}

// errUsed comes when another server has a file. To take another file is no way out: its server
// would not know which documents were given.
var errUsed = errors.New("another kiln serve uses this state; end that one first")

// own makes this process the owner of the file. It fails as folder.Own does, but with errUsed if
// another process has the file.
func (k *kept) own() (err error) {
	k.file, err = folder.Own(k.path)
	k.spare.hold()
	return k.explain(err)
}

func (k *kept) explain(err error) error {
	if errors.Is(err, folder.ErrBusy) {
		return fmt.Errorf("%s: %w", k.path, errUsed)
	}
	return err
}

// close lets another process have the file.
func (k *kept) close() {
	k.spare.release()
	if k.file != nil {
		_ = k.file.Close()
	}
}

// save writes the file after a change.
func (k *kept) save() error {
	k.changes.Add(1)
	return k.settle()
}

// settle writes the file if a change is not on disk. If several saves wait, the first one writes
// for all. It never writes more than can be read.
func (k *kept) settle() error {
	k.disk.Lock()
	defer k.disk.Unlock()
	changes := k.changes.Load()
	if k.written >= changes {
		return nil
	}
	k.buffer.Reset()
	err := k.content(&k.buffer)
	if err == nil && k.buffer.Len() > k.limit {
		err = fmt.Errorf("it would be larger than %d MiB", k.limit>>20)
	}
	if err == nil {
		err = k.explain(k.spare.use(func() error {
			return k.file.Replace(k.buffer.Bytes(), 0o600)
		}))
	}
	if err != nil {
		return fmt.Errorf("%s: the state cannot be kept: %w", k.path, err)
	}
	k.written = changes
	return nil
}

package vault

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/text/wording"
)

// maxFile is how many bytes the file of a bundle may have. pki.Load and atrest have their own,
// smaller limits.
const maxFile = 8 << 20

// Sealed is the end of the name of an encrypted bundle, behind the name of the plain one.
const Sealed = ".age"

// File is a bundle, with the place that it came from.
type File struct {
	*pki.Bundle
	Path    string // the bundle's file, or - for standard input
	New     bool   // the bundle was made for this run
	Piped   bool   // the bundle came through a pipe, and cannot be written back
	Renewed bool   // Renew gave etcd a new identity, which the file does not have
	Sealed  bool   // the file is encrypted, or is to be

	lock   *Lock             // how the file is encrypted, if it is
	sum    [sha256.Size]byte // of the file as it was read
	wanted []string          // the recipients of the configuration

	encrypt string // the command that encrypts the bundle to them
	again   bool   // RecipientFlag named only recipients that the bundle has
}

// raw is a bundle's file as it was read.
type raw struct {
	path, name string // name stands for the file in messages
	data       []byte
	stored     bool // it is a file at path, and no pipe
}

// stored reads the file of a bundle. A path that --secrets names may be a pipe, or - for Stdin. The
// error wraps fs.ErrNotExist if there is no file.
func (s *Source) stored(path string) (r *raw, err error) {
	r = &raw{path: path, name: path}
	switch {
	case s.Secrets == "":
		r.stored = true
		r.data, err = folder.Read(path, maxFile)
	case path == "-":
		r.name = "standard input"
		r.data, err = folder.ReadUpTo(r.name, s.Stdin, maxFile)
	default:
		r.data, r.stored, err = folder.ReadGiven(path, maxFile)
	}
	switch {
	case err != nil:
		return nil, err
	case !r.stored && len(bytes.TrimSpace(r.data)) == 0:
		return nil, fmt.Errorf("%s: nothing came through the pipe: "+
			"did the command before it fail?", r.name)
	case r.stored:
		return r, checkAlone(path)
	}
	return r, nil
}

// checkAlone returns an error if the plain and the encrypted form of a bundle lie side by side:
// nobody knows which one is newer.
func checkAlone(path string) error {
	plain := strings.TrimSuffix(path, Sealed)
	for _, name := range []string{plain, plain + Sealed} {
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			return nil
		}
	}
	return fmt.Errorf("%s and %s are both there, and kiln does not know which of them is the "+
		"bundle; find out which one is newer, and move the other one away", plain, plain+Sealed)
}

// open decrypts and checks a bundle's file. It fails if other users may change it, or read it
// although it is plain. Each line of an error begins with the file's name.
func (s *Source) open(r *raw) (*File, error) {
	f := &File{
		Path: r.path, Piped: !r.stored, Sealed: IsEncrypted(r.data), sum: sha256.Sum256(r.data),
	}
	if err := s.Keys.CheckPath(); err != nil {
		return nil, err
	}
	if !f.Sealed {
		// A file that is not a bundle is reported as such, whatever its mode.
		if err := pki.Mistaken(r.data); err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
	}
	if r.stored {
		err := CheckMode(r.path, f.Sealed, "it holds every secret of the cluster")
		if err != nil {
			return nil, err
		}
	}
	plain, name := r.data, r.name
	if f.Sealed {
		var lock *Lock
		var err error
		if plain, lock, err = s.Keys.Open(r.name, r.data); err != nil {
			return nil, err
		}
		f.lock, name = lock, r.name+", decrypted"
	}
	b, err := pki.Load(plain)
	if err != nil {
		return nil, wording.PrefixErrors(name, err)
	}
	if f.Bundle = b; f.Sealed && f.lock.None() {
		f.lock.Recipients = b.Recipients
	}
	return f, nil
}

// checkLock returns an error if the bundle is encrypted, and nobody knows to whom.
func (f *File) checkLock() error {
	if !f.Sealed || !f.lock.None() {
		return nil
	}
	return fmt.Errorf("%s: it is encrypted, and does not say to whom, because kiln did not do "+
		"that; written in plain it would be no secret, and it stays as it is before "+
		"kiln secrets encrypt has encrypted it (docs/secrets.md)", f.Path)
}

// stored returns the text of the bundle as it is stored: encrypted if it is to be.
func (f *File) stored(text []byte) ([]byte, error) {
	if err := f.checkLock(); err != nil {
		return nil, err
	}
	if !f.Sealed {
		return text, nil
	}
	data, err := f.lock.Seal(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return data, nil
}

// Create writes a new bundle with mode 0600. It fails if the file exists. If the run is killed, the
// file is whole or absent.
func (f *File) Create() error {
	text, err := f.Marshal()
	if err != nil {
		return err
	}
	data, err := f.stored(text)
	if err != nil {
		return err
	}
	err = folder.Create(f.Path, data, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: another run of kiln has made it meanwhile; "+
			"render again, with that bundle", f.Path)
	}
	return err
}

// Replace writes the bundle over the file that it was read from, and encrypts it again if it was
// encrypted: to the recipients that the bundle names, or with its passphrase. Only Encrypt changes
// them. Replace fails if the file has changed or gone since, and if the new one could not be read
// again: it is too large, or its dates contradict each other. The old version stays whole until the
// new one is on disk. If the path is a link, the link stays and its target is replaced.
func (f *File) Replace() error {
	text, err := f.Marshal()
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	if _, err := pki.Load(text); err != nil {
		return fmt.Errorf("%s: the changed bundle could not be read again, so it was not "+
			"written: %w", f.Path, err)
	}
	data, err := f.stored(text)
	if err != nil {
		return err
	}
	err = folder.Write(folder.File{
		Path: f.Path, Mode: 0o600, Exists: true,
		Ours: func(old []byte) bool { return sha256.Sum256(old) == f.sum },
	}, data)
	if err == nil {
		f.sum = sha256.Sum256(data)
	}
	return err
}

// Save writes the bundle to its file if it is new or renewed. Otherwise it removes what an
// interrupted run left beside the file.
func (f *File) Save() error {
	switch {
	case f.New:
		return f.Create()
	case f.Renewed:
		return f.Replace()
	case !f.Piped:
		folder.Tidy(f.Path)
	}
	return nil
}

// Made returns the note about a new bundle.
func (f *File) Made() string {
	if f.Sealed {
		return fmt.Sprintf("made the bundle %s, encrypted to %s: it holds every secret of the "+
			"cluster; keep it, and an identity that opens it", f.Path,
			wording.Count(len(f.Recipients), "recipient"))
	}
	return fmt.Sprintf("made the bundle %s: it holds every secret of the cluster; "+
		"keep it safe and out of git", f.Path)
}

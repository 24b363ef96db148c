package render

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"path"
	"slices"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/machine/assembly"
	"kiln.dev/kiln/render/pack/document"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/review"
)

// WritePublic writes the public half of a bundle to the file path. It replaces only a file that
// holds such a half as well, and fails for any other.
func WritePublic(path string, p *pki.Public) error {
	data, err := p.Marshal()
	if err != nil {
		return err
	}
	return folder.Write(folder.File{
		Path: path, Mode: 0o644, What: "the public half of a bundle", Flag: "--out",
		Ours: func(old []byte) bool { _, err := pki.LoadPublic(old); return err == nil },
	}, data)
}

// Kubeconfig returns the kubeconfig of somebody with a client certificate of the cluster.
func Kubeconfig(p *plan.Plan, half *pki.Public, cert *pki.Certificate) []byte {
	return assembly.PersonKubeconfig(p, half, cert)
}

// Admin returns the operator's kubeconfig, which no machine receives. It needs the bundle, and
// fails if the certificate cannot be issued.
func (r *Cluster) Admin() ([]byte, error) {
	cert, err := r.Bundle.Issue(r.Public.AdminSpec(r.Plan))
	if err != nil {
		return nil, err
	}
	return Kubeconfig(r.Plan, r.Public, cert), nil
}

// WriteKubeconfig writes a kubeconfig with a key inside to the file path, with mode 0600. It
// replaces only a kubeconfig of the same user for the same cluster that nobody else may read, and
// fails for any other file.
func WriteKubeconfig(path string, kubeconfig []byte) error {
	if err := checkPrivate(path, "a kubeconfig holds a key"); err != nil {
		return err
	}
	context := contextOf(kubeconfig)
	return folder.Write(folder.File{
		Path: path, Mode: 0o600, What: "a kubeconfig of this user for this cluster", Flag: "--out",
		Ours: func(old []byte) bool { return contextOf(old) == context },
	}, kubeconfig)
}

// WriteToken writes the Secret of a pool's bootstrap token to the file path, with mode 0600. It
// replaces only such a Secret of the same pool that nobody else may read, and fails for any other
// file.
func WriteToken(path string, secret []byte) error {
	if err := checkPrivate(path, "the Secret holds a token"); err != nil {
		return err
	}
	owner := tokenOwner(secret)
	return folder.Write(folder.File{
		Path: path, Mode: 0o600, What: "a Secret with a token of this pool", Flag: "--out",
		Ours: func(old []byte) bool { return tokenOwner(old) == owner },
	}, secret)
}

// WriteProgram writes a program of kiln apply to the file path, with mode 0600. It replaces only
// such a program that nobody else may read, as ours reports, and fails for any other file.
func WriteProgram(path, program string, ours func(old []byte) bool) error {
	if err := checkPrivate(path, "the script holds secrets"); err != nil {
		return err
	}
	return folder.Write(folder.File{
		Path: path, Mode: 0o600, What: "a script of kiln apply", Flag: "--out", Ours: ours,
	}, []byte(program))
}

// tokenOwner returns the description of a Secret with a bootstrap token, which names its pool. It
// is empty if data is no such Secret.
func tokenOwner(data []byte) string {
	var s struct {
		Kind string `json:"kind"`
		Type string `json:"type"`
		Data struct {
			Description string `json:"description"`
		} `json:"stringData"`
	}
	if yaml.Unmarshal(data, &s) != nil || s.Kind != "Secret" ||
		s.Type != "bootstrap.kubernetes.io/token" {
		return ""
	}
	return s.Type + " " + s.Data.Description
}

// checkPrivate returns an error if others may read or change the file path, which is to hold a
// secret.
func checkPrivate(path, secret string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
		return nil // folder.Write says what is wrong with a path
	}
	return fmt.Errorf("--out %s: others may read or change it (mode %04o), and %s; chmod 600 it",
		path, info.Mode().Perm(), secret)
}

// contextOf returns the current context of a kubeconfig, which names the user and the cluster. It
// is empty if data is no kubeconfig.
func contextOf(data []byte) string {
	var k struct {
		Kind    string `json:"kind"`
		Context string `json:"current-context"`
	}
	if yaml.Unmarshal(data, &k) != nil || k.Kind != "Config" {
		return ""
	}
	return k.Context
}

// WriteLock writes a lock to the file path. It replaces only a file that is a lock, and fails for
// any other.
func WriteLock(path string, locked *config.Locked) error {
	return folder.Write(folder.File{
		Path: path, Mode: 0o644, What: "a lock", Flag: "--config",
		Ours: func(old []byte) bool { return config.IsLock(path, old) },
	}, locked.Encode())
}

// WritePage writes a page of kiln report to the file path, readable for everybody. It replaces a
// file only if ours reports that the file is such a page, and fails for any other.
func WritePage(path string, page []byte, ours func(old []byte) bool) error {
	return folder.Write(folder.File{
		Path: path, Mode: 0o644, What: "a page of kiln report", Flag: "--out", Ours: ours,
	}, page)
}

// Files is a set of files with secrets that WriteFiles writes into one folder.
type Files struct {
	// Dir is the folder. It gets mode 0700 if WriteFiles makes it; the files get 0600.
	Dir string
	// List is the name of the file that lists the others, empty if there is none. Listed returns
	// the paths that an older list names, or an error if the folder must not be touched. A file
	// that the older list names and that is no longer written is removed. A file that it does not
	// name is never replaced.
	List   string
	Listed func(list []byte) ([]string, error)
	// Makes reports whether kiln writes files with this path into such a folder.
	Makes func(name string) bool
	// Files yields the files by their paths below Dir, the list among them.
	Files iter.Seq2[document.Output, error]
}

// WriteFiles writes a set of files with secrets, all of them or none. It fails with the errors of
// all files that could not be made.
func WriteFiles(files Files) (*Changes, error) {
	f, err := folder.Open(folder.Options{
		Dir: files.Dir, Mode: 0o600, Flag: "--out",
		List: files.List, Paths: files.Listed, Makes: files.Makes, Shared: true,
	})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var errs []error
	for file, err := range files.Files {
		if err == nil && len(errs) == 0 {
			err = f.Stage(file.Name, file.Data)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if err := joinErrors(errs); err != nil {
		return nil, err
	}
	for _, step := range []func() error{func() error { return f.MarkStale() }, f.Sync, f.Commit} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return &Changes{Changes: f.Changes()}, nil
}

// WriteUnpacked writes the files of an unpacked machine below the new folder dir, readable for the
// user alone. It returns how many of them are secrets. It fails if a path leads out of the folder
// or no folder can hold it, and then leaves no file behind.
func WriteUnpacked(u *review.Unpacked, dir string) (secrets int, err error) {
	files, secrets, err := u.Folder()
	if err != nil {
		return 0, err
	}
	err = folder.Make(dir, func(root *os.Root) error {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
				return err
			}
			if err := root.WriteFile(name, files[name], 0o600); err != nil {
				return err
			}
		}
		return nil
	})
	return secrets, err
}

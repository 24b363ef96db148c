package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"kiln/render/credential"
)

// Limits of the files that cluster.yaml names.
const (
	maxText   = 1 << 20
	maxFolder = 10 << 20
)

// loader reads the files that cluster.yaml names, each once.
type loader struct {
	*reporter
	dir    fs.FS
	source *source
	failed map[string]error
	public bool // files with secrets may be missing

	cluster  string                       // its name
	found    map[string]*credential.Found // in files, nil if there is nothing
	rendered map[string]bool              // whether kiln render wrote a folder
}

// load reads every file that c names, and reports those that cannot be read.
func load(c *Cluster, dir fs.FS, public bool, r *reporter) {
	l := &loader{
		reporter: r, dir: dir, source: c.source, failed: map[string]error{}, public: public,
		cluster: c.Metadata.Name, found: map[string]*credential.Found{}, rendered: map[string]bool{},
	}
	l.source.texts = map[string][]byte{}
	l.source.folders = map[string]map[string][]byte{}
	_, spec := top()

	l.machine(&c.Spec.Machines, spec.key("machines"))
	l.machine(&c.Spec.ControlPlane.Machines, spec.key("controlPlane").key("machines"))
	l.machine(&c.Spec.ControlPlane.Etcd.Machines, spec.key("controlPlane").key("etcd").key("machines"))
	l.machine(&c.Spec.Workers.Machines, spec.key("workers").key("machines"))
	l.patches(c.Spec.Patches, spec.key("patches"))
	l.patches(c.Spec.ControlPlane.Patches, spec.key("controlPlane").key("patches"))
	l.patches(c.Spec.Workers.Patches, spec.key("workers").key("patches"))
	for i := range c.Spec.Nodes {
		at := spec.key("nodes").at(i)
		l.machine(&c.Spec.Nodes[i].Machine, at)
		l.patches(c.Spec.Nodes[i].Patches, at.key("patches"))
	}
	for i := range c.Spec.Pools {
		at := spec.key("pools").at(i)
		l.machine(&c.Spec.Pools[i].Machine, at)
		l.patches(c.Spec.Pools[i].Patches, at.key("patches"))
	}
	if ext := c.Spec.ControlPlane.Etcd.External; ext != nil {
		at := spec.key("controlPlane").key("etcd").key("external")
		l.text(ext.CAFrom, certAlone, at.key("caFrom"))
		l.text(ext.CertFrom, certAlone, at.key("certFrom"))
		l.secret(ext.KeyFrom, true, "", at.key("keyFrom"))
	}
	for i, a := range c.Spec.Addons {
		l.addon(a.Path, spec.key("addons").at(i).key("path"))
	}
}

// machine reads the files that a layer names.
func (l *loader) machine(m *Machine, at *where) {
	for i, f := range m.Files {
		if f.ContentFrom != "" {
			l.secret(f.ContentFrom, f.Secret, markIt, at.key("files").at(i).key("contentFrom"))
		}
	}
	for i, u := range m.Units {
		if u.ContentFrom != "" {
			l.text(u.ContentFrom, fileForUnit, at.key("units").at(i).key("contentFrom"))
		}
	}
	if from := m.Delivery.CAFrom; from != "" {
		l.text(from, certAlone, at.key("delivery").key("caFrom"))
	}
	l.scripts(m.PreBoot, at.key("preBoot"))
	l.scripts(m.PostBoot, at.key("postBoot"))
}

// scripts reads the files that scripts name.
func (l *loader) scripts(scripts []Script, at *where) {
	for i, s := range scripts {
		if s.ContentFrom != "" {
			l.secret(s.ContentFrom, s.Secret, markScript, at.at(i).key("contentFrom"))
		}
	}
}

// patches reads the files that patches name.
func (l *loader) patches(patches []Patch, at *where) {
	for i, p := range patches {
		if p.PatchFrom != "" {
			// What it patches may be a Secret. Check looks at what comes out.
			l.text(p.PatchFrom, "", at.at(i).key("patchFrom"))
		}
	}
}

// secret reads one file that may hold a secret. Where the secrets are not, it may be missing, and
// nothing is said of its content. todo says what to do about a credential in one that is not marked
// as a secret.
func (l *loader) secret(name string, secret bool, todo string, at *where) {
	if secret && l.public && checkName(name) == nil && l.dir != nil {
		if _, err := fs.Stat(l.dir, cleanPath(name)); errors.Is(err, fs.ErrNotExist) {
			l.hide(at.String())
			return
		}
	}
	if secret {
		todo = ""
	}
	l.text(name, todo, at)
}

// text reads one file. todo says what to do about a credential in it; empty allows one.
func (l *loader) text(name, todo string, at *where) {
	l.once("text", name, at, func(clean string, info fs.FileInfo) error {
		if info.IsDir() {
			return errors.New("is a folder; name a file")
		}
		data, err := readFile(l.dir, clean, info)
		if err == nil {
			l.source.texts[clean] = data
		}
		return err
	})
	l.exposed(name, todo, at)
}

// addon reads one file, or all files of a folder with a kustomization.
func (l *loader) addon(name string, at *where) {
	l.once("addon", name, at, func(clean string, info fs.FileInfo) error {
		if !info.IsDir() {
			data, err := readFile(l.dir, clean, info)
			if err == nil {
				l.source.texts[clean] = data
			}
			return err
		}
		files, err := readFolder(l.dir, clean)
		if err == nil {
			l.source.folders[clean] = files
		}
		return err
	})
	l.exposed(name, "", at)
	l.exposedFolder(name, at)
}

// once checks a name, calls read at its first occurrence as a kind of file, and reports the error at every one.
func (l *loader) once(kind, name string, at *where, read func(clean string, info fs.FileInfo) error) {
	if l.isHidden(at) {
		return
	}
	clean := cleanPath(name)
	if _, ok := l.source.texts[clean]; ok {
		return
	}
	if _, ok := l.source.folders[clean]; ok {
		return
	}
	err, known := l.failed[kind+" "+clean]
	if !known {
		err = checkName(name)
		if err == nil && l.dir == nil {
			err = errors.New("names a file, but this configuration has no folder; write the content itself")
		}
		if err == nil {
			err = l.notRendered(clean)
		}
		if err == nil {
			var info fs.FileInfo
			if info, err = fs.Stat(l.dir, clean); err != nil {
				err = fmt.Errorf("cannot be read: %s", reason(err))
			} else {
				err = read(clean, info)
			}
		}
		if err != nil {
			l.failed[kind+" "+clean] = err
		}
	}
	if err != nil {
		l.report(at, "%s %s", quote(name), err)
		l.hide(at.String())
	}
}

// checkName refuses names that lead, or might lead, out of the folder of cluster.yaml.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("is empty; name a file beside cluster.yaml")
	case strings.Contains(name, "://"):
		return errors.New("is a URL; nothing is fetched, put the file beside cluster.yaml")
	case strings.Contains(name, `\`) || hasControl(name):
		return errors.New("is not a path; separate folders with /, and leave out characters that cannot be seen")
	case path.IsAbs(name) || !filepath.IsLocal(name):
		return errors.New("leads out of the folder of cluster.yaml; put the file there and write its path relative to it")
	}
	return nil
}

// reason returns what the system says about a file, without the name that the caller shows anyway.
func reason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "there is no such file beside cluster.yaml"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// readFile reads a regular file of at most maxText bytes. info is what stat said: opening a FIFO would wait for ever.
func readFile(dir fs.FS, name string, info fs.FileInfo) ([]byte, error) {
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	if info.Size() > maxText {
		return nil, fmt.Errorf("has %d bytes; at most 1 MiB (%d) are read", info.Size(), maxText)
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %s", reason(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %s", reason(err))
	}
	if len(data) > maxText {
		return nil, fmt.Errorf("grew while it was read; at most 1 MiB (%d) are read", maxText)
	}
	return data, nil
}

// readFolder reads all files of a kustomize folder. Links to files are followed within the folder of cluster.yaml.
func readFolder(dir fs.FS, root string) (map[string][]byte, error) {
	files, total := map[string][]byte{}, 0
	err := fs.WalkDir(dir, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("cannot be read: %s", reason(err))
		}
		if entry.IsDir() {
			return nil
		}
		if path.Base(name) == inventory && hasInventory(dir, path.Dir(name)) {
			return fmt.Errorf("has %s in it, the folder of kiln render --out; keep add-ons and documents apart", path.Dir(name))
		}
		info, err := fs.Stat(dir, name)
		if err != nil {
			return fmt.Errorf("cannot be read: %s: %s", name, reason(err))
		}
		data, err := readFile(dir, name, info)
		if err != nil {
			return fmt.Errorf("cannot be used: %s %w", name, err)
		}
		if total += len(data); total > maxFolder {
			return fmt.Errorf("has more than 10 MiB (%d) of files; an add-on is smaller", maxFolder)
		}
		files[name] = data
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if _, ok := files[path.Join(root, name)]; ok {
			return files, nil
		}
	}
	return nil, errors.New("is a folder without kustomization.yaml; add one, or name the manifest file itself")
}

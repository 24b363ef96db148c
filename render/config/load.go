package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/credential"
	"kiln.dev/kiln/render/text/yamltext"
)

// The most bytes of a file that cluster.yaml names, of an add-on, a file or all files of a folder,
// and of all files that the settings of one layer name. The same file counts wherever it is named:
// it is packed as often.
const (
	maxText   = 1 << 20
	maxFolder = 16 << 20 // the definitions of Argo Workflows have 12 MiB
	maxLayer  = 10 << 20
)

// loader reads the files that cluster.yaml names, each once.
type loader struct {
	*reporter
	dir    fs.FS
	source *source
	failed map[string]error // by kind and clean path, so that a file is read once
	public bool             // files with secrets may be missing
	size   int              // of the files that this layer has named so far, in bytes

	cluster  string                       // the name of the cluster
	found    map[string]*credential.Found // the credential in a file, nil if it has none
	rendered map[string]bool              // whether kiln render wrote a folder
}

// load reads every file that c names, and reports credentials in files that everybody could read.
func load(c *Cluster, dir fs.FS, public bool, r *reporter) {
	l := &loader{
		reporter: r, dir: dir, source: c.source, failed: map[string]error{}, public: public,
		cluster:  c.Metadata.Name,
		found:    map[string]*credential.Found{},
		rendered: map[string]bool{},
	}
	l.source.texts = map[string][]byte{}
	l.source.folders = map[string]map[string][]byte{}
	_, spec := locations()

	for _, layer := range c.written() {
		l.machine(layer.Machine, layer.at)
		l.patches(layer.patches, layer.patchesAt)
	}
	if ext := c.Spec.ControlPlane.Etcd.External; ext != nil {
		at := spec.Key("controlPlane").Key("etcd").Key("external")
		l.text(ext.CAFrom, certAlone, at.Key("caFrom"))
		l.text(ext.CertFrom, certAlone, at.Key("certFrom"))
		l.secret(ext.KeyFrom, true, "", at.Key("keyFrom"))
	}
	for i, a := range c.Spec.Addons {
		l.addon(a.Path, spec.Key("addons").Index(i).Key("path"))
	}
}

func (l *loader) machine(m *Machine, at *yamltext.Location) {
	l.size = 0
	for i, f := range m.Files {
		if f.ContentFrom != "" {
			l.secret(f.ContentFrom, f.Secret, markIt, at.Key("files").Index(i).Key("contentFrom"))
		}
	}
	for i, u := range m.Units {
		l.optional(u.ContentFrom, fileForUnit, at.Key("units").Index(i).Key("contentFrom"))
	}
	l.optional(m.Delivery.CAFrom, certAlone, at.Key("delivery").Key("caFrom"))
	l.optional(m.Report.CAFrom, certAlone, at.Key("report").Key("caFrom"))
	l.optional(m.Binaries.CAFrom, certAlone, at.Key("binaries").Key("caFrom"))
	l.optional(m.Binaries.KeyFrom, keyAlone, at.Key("binaries").Key("keyFrom"))
	for i, from := range m.TrustedCAsFrom {
		l.text(from, certAlone, at.Key("trustedCAsFrom").Index(i))
	}
	for i, r := range m.Registries {
		l.registry(&r, at.Key("registries").Index(i))
	}
	l.scripts(m.PreBoot, at.Key("preBoot"))
	l.scripts(m.PostBoot, at.Key("postBoot"))
}

func (l *loader) registry(r *Registry, at *yamltext.Location) {
	l.optional(r.CAFrom, certAlone, at.Key("caFrom"))
	l.optional(r.CertFrom, certAlone, at.Key("certFrom"))
	if r.KeyFrom != "" {
		l.secret(r.KeyFrom, true, "", at.Key("keyFrom"))
	}
	switch {
	case r.PasswordFrom == "":
	case !l.isFile(r.PasswordFrom) && !(l.public && checkName(r.PasswordFrom) == nil):
		// It may be the password. Without secrets, a file may be missing.
		l.report(at.Key("passwordFrom"), "is no file beside cluster.yaml (value withheld); write "+
			"the name of a file that has the password alone")
		l.hide(at.Key("passwordFrom").String())
	default:
		l.secret(r.PasswordFrom, true, "", at.Key("passwordFrom"))
	}
}

func (l *loader) isFile(name string) bool {
	if checkName(name) != nil || l.dir == nil {
		return false
	}
	info, err := fs.Stat(l.dir, cleanPath(name))
	return err == nil && !info.IsDir()
}

func (l *loader) scripts(scripts []Script, at *yamltext.Location) {
	for i, s := range scripts {
		if s.ContentFrom != "" {
			l.secret(s.ContentFrom, s.Secret, markScript, at.Index(i).Key("contentFrom"))
		}
	}
}

func (l *loader) patches(patches []Patch, at *yamltext.Location) {
	for i, p := range patches {
		// The patch may be for a Secret. Package check looks at the patched objects.
		l.optional(p.PatchFrom, "", at.Index(i).Key("patchFrom"))
	}
}

// secret reads one file that may contain a secret. If secrets may be missing and this one is, then
// nothing more of the field is reported. todo says what to do about a credential in a file that is
// not marked as a secret.
func (l *loader) secret(name string, secret bool, todo string, at *yamltext.Location) {
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
	if clean := cleanPath(name); secret && l.source.texts[clean] != nil {
		l.source.marked = append(l.source.marked, clean)
	}
}

// optional is text for a field that may be empty.
func (l *loader) optional(name, todo string, at *yamltext.Location) {
	if name != "" {
		l.text(name, todo, at)
	}
}

// text reads one file. todo says what to do about a credential in it; "" allows one.
func (l *loader) text(name, todo string, at *yamltext.Location) {
	l.once("text", name, at, func(clean string, info fs.FileInfo) error {
		if info.IsDir() {
			return errors.New("is a folder; name a file")
		}
		data, err := readFile(l.dir, clean, info, maxText)
		if err == nil {
			l.source.texts[clean] = data
		}
		return err
	})
	l.reportExposed(name, todo, at)

	before := l.size
	if l.size += len(l.source.texts[cleanPath(name)]); before <= maxLayer && l.size > maxLayer {
		l.report(at, "the files that are named up to here have more than 10 MiB (%d) together, "+
			"for one machine; fetch large files at its first boot, or put them into its image",
			maxLayer)
	}
}

// addon reads one file, or all files of a folder with a kustomization.
func (l *loader) addon(name string, at *yamltext.Location) {
	l.once("addon", name, at, func(clean string, info fs.FileInfo) error {
		if !info.IsDir() {
			data, err := readFile(l.dir, clean, info, maxFolder)
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
	l.reportExposed(name, "", at)
	l.reportExposedFolder(name, at)
}

// once reads a file where its name occurs for the first time, and reports the error wherever the
// name occurs. The same name may fail as one kind of file and not as another.
func (l *loader) once(kind, name string, at *yamltext.Location, read readFunc) {
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
	err, failed := l.failed[kind+" "+clean]
	if !failed {
		if err = l.read(name, read); err == nil {
			return
		}
		l.failed[kind+" "+clean] = err
	}
	l.report(at, "%s %s", quote(name), err)
	l.hide(at.String())
}

// readFunc reads the file or folder at a clean path. info is the result of stat.
type readFunc func(clean string, info fs.FileInfo) error

// read calls the function for a file that cluster.yaml may name and that is there.
func (l *loader) read(name string, read readFunc) error {
	if err := checkName(name); err != nil {
		return err
	}
	if l.dir == nil {
		return errors.New("names a file, but this configuration has no folder; " +
			"write the content itself")
	}
	clean := cleanPath(name)
	if err := l.refuseRendered(clean); err != nil {
		return err
	}
	info, err := fs.Stat(l.dir, clean)
	if err != nil {
		return fmt.Errorf("cannot be read: %s", reason(err))
	}
	return read(clean, info)
}

// checkName refuses a name that may lead out of the folder of cluster.yaml.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("is empty; name a file beside the configuration")
	case strings.Contains(name, "://"):
		return errors.New("is a URL; nothing is fetched, put the file beside the configuration")
	case strings.Contains(name, `\`) || hasControl(name):
		return errors.New("is not a path; " +
			"separate folders with /, and leave out characters that cannot be seen")
	case path.IsAbs(name) || !filepath.IsLocal(name):
		return errors.New("leads out of the folder of the configuration; " +
			"put the file there and write its path relative to it")
	}
	return nil
}

// reason returns the system's error about a file without the name, which the caller shows anyway.
func reason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "there is no such file beside the configuration"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// readFile reads a regular file of at most so many bytes. info is the result of stat: opening a
// FIFO would wait for ever. The error comes for other files, for longer ones and for those that
// cannot be read.
func readFile(dir fs.FS, name string, info fs.FileInfo, limit int64) ([]byte, error) {
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("has %d bytes; at most %d MiB (%d) are read", info.Size(),
			limit>>20, limit)
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %s", reason(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %s", reason(err))
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("grew while it was read; at most %d MiB (%d) are read", limit>>20,
			limit)
	}
	return data, nil
}

// above matches what a kustomization may name outside of its folder, such as ../../base. It matches
// too in a comment: then a folder is read that is not used.
var above = regexp.MustCompile(`\.\./[^\s"',\]}]+`)

// readFolder reads all files of a kustomize folder, and of those that kustomizations in it name
// beside it. It follows links to files within the folder of cluster.yaml. The error comes if a file
// cannot be read, if they are too large together, and if a folder is not one of kustomize or has
// one of kiln render --out in it.
func readFolder(dir fs.FS, root string) (map[string][]byte, error) {
	files, total, folders := map[string][]byte{}, 0, []string{root}
	read := func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("cannot be read: %s", reason(err))
		}
		if _, known := files[name]; entry.IsDir() || known {
			return nil
		}
		if path.Base(name) == inventory && hasInventory(dir, path.Dir(name)) {
			return fmt.Errorf("has %s in it, the folder of kiln render --out; "+
				"keep add-ons and documents apart", path.Dir(name))
		}
		info, err := fs.Stat(dir, name)
		if err != nil {
			return fmt.Errorf("cannot be read: %s: %s", name, reason(err))
		}
		data, err := readFile(dir, name, info, maxFolder)
		if err != nil {
			return fmt.Errorf("cannot be used: %s %w", name, err)
		}
		if total += len(data); total > maxFolder {
			return fmt.Errorf("has more than 16 MiB (%d) of files; an add-on is smaller", maxFolder)
		}
		files[name] = data
		if !slices.Contains(kustomizations, path.Base(name)) {
			return nil
		}
		for _, named := range above.FindAllString(string(data), -1) {
			folder := path.Join(path.Dir(name), named)
			if !slices.Contains(folders, folder) && isKustomization(dir, folder) {
				folders = append(folders, folder)
			}
		}
		return nil
	}
	for i := 0; i < len(folders); i++ { // it grows
		if err := fs.WalkDir(dir, folders[i], read); err != nil {
			return nil, err
		}
	}
	if isKustomization(dir, root) {
		return files, nil
	}
	if _, ok := files[path.Join(root, "Chart.yaml")]; ok {
		return nil, errors.New("is a Helm chart; " +
			"render it with helm template, and name the file with its output")
	}
	return nil, errors.New("is a folder without kustomization.yaml; " +
		"add one, or name the manifest file itself")
}

var kustomizations = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

func isKustomization(dir fs.FS, folder string) bool {
	return slices.ContainsFunc(kustomizations, func(name string) bool {
		_, err := fs.Stat(dir, path.Join(folder, name))
		return err == nil
	})
}

// This file keeps secrets out of review twins, and learns from a twin that its cluster exists.

package vault

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/text/wording"
)

// CheckOutside returns an error if a file or folder lies in a review twin: a twin is made for git,
// so no secrets may lie in its folder or below. The error names the flag that named the file.
func CheckOutside(flag, name string) error {
	dir := term.ResolvePath(name)
	for child := ""; dir != child; dir, child = filepath.Dir(dir), dir {
		if render.ReadTwin(dir) != nil {
			return fmt.Errorf("--%s %s: %s is a review twin, made for git; "+
				"name another folder with --%[1]s", flag, name, term.ShortPath(dir))
		}
	}
	return nil
}

// CheckStrays returns an error for each file with secrets in the folder of a review twin. It knows
// such files by their names, so it ignores notes and pictures. It skips the folders that the INDEX
// names, because a render of the twin removes foreign files there, or takes the folder off the
// INDEX. In any other folder below the twin, it reports the first such file only.
func CheckStrays(dir string) error {
	if dir == "" {
		return nil
	}
	var errs []error
	err := walkBeside(dir, func(name, below string, e fs.DirEntry) error {
		switch {
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case !e.IsDir() && below != render.IndexFile && isSecretName(e.Name()):
			errs = append(errs, fmt.Errorf("%s: holds secrets, or may, and %s is a review twin, "+
				"made for git; take it out, out of git's history too if it was committed",
				wording.Visible(name, ""), filepath.Clean(dir)))
			if filepath.Dir(below) != "." {
				return fs.SkipDir // one file of the folder is enough
			}
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("%w; kiln looks for secrets in the whole twin: make all of it readable",
			err)
	}
	return errors.Join(append(errs, err)...)
}

// UnlistedFiles returns the entries in the folder of a review twin that neither kiln makes there
// nor people keep as notes and pictures: links, pipes, hidden files such as a .gitattributes that
// hides changes from reviewers. The paths are below the folder. It skips .git, and the folders that
// the INDEX names: whoever renders the twin compares these.
func UnlistedFiles(dir string) (names []string, err error) {
	err = walkBeside(dir, func(_, below string, e fs.DirEntry) error {
		switch {
		case e.Name() == ".git":
		case strings.HasPrefix(e.Name(), ".") || !e.IsDir() && !e.Type().IsRegular():
			names = append(names, below)
		default:
			return nil
		}
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return names, err
}

// walkBeside calls see for all that is in the folder of a review twin and not in a folder that its
// INDEX names, with the path, and the path below the twin. It does nothing if dir is no twin.
func walkBeside(dir string, see func(name, below string, e fs.DirEntry) error) error {
	twin := render.ReadTwin(dir)
	if twin == nil {
		return nil
	}
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		below, err := filepath.Rel(dir, name)
		switch {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains(twin.Folders, filepath.ToSlash(below)):
			return fs.SkipDir
		}
		return see(name, below, e)
	})
}

// isSecretName reports whether kiln gives this name to a file with secrets, or to a file beside
// them: the INDEX of an unpacked machine, or the list of a folder.
func isSecretName(name string) bool {
	names := []string{
		render.InventoryFile, render.AdminFile, render.IndexFile, render.NetbootFile,
		"config.ign", "user-data", "body.ign", "body.sh",
	}
	ends := []string{".iso", ".cpio.gz", render.BundleEnd}
	hasEnd := func(end string) bool { return strings.HasSuffix(name, end) }
	return slices.Contains(names, name) || slices.ContainsFunc(ends, hasEnd)
}

// CheckNoCluster returns an error if a twin shows that the cluster exists already. It is called if
// the bundle of the cluster is missing. It looks at the folder that --review names, if any, and at
// the folder review beside the configuration.
func CheckNoCluster(bundle, cluster, config, review string) error {
	for _, dir := range []string{review, filepath.Join(filepath.Dir(config), "review")} {
		if dir == "" {
			continue
		}
		switch twin := render.ReadTwin(dir); {
		case twin == nil:
		case twin.Name == cluster:
			return LostBundle(fmt.Sprintf("%s is the twin of %s (%s), and its bundle",
				filepath.Clean(dir), twin.Name, twin.Cluster), bundle)
		case dir == review:
			return fmt.Errorf("%s is the twin of %s (%s), and this is %s; "+
				"name another folder with --review",
				filepath.Clean(dir), twin.Name, twin.Cluster, cluster)
		}
	}
	return nil
}

// LostBundle returns the error for a bundle that is missing although its cluster exists, as found
// says.
func LostBundle(found, bundle string) error {
	return fmt.Errorf("%s %s is missing: a new one would be another cluster; restore the bundle "+
		"from its backup, or name it with --secrets; what is left without a backup: "+
		"docs/secrets.md", found, bundle)
}

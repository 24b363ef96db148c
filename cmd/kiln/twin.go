package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"kiln/cmd/kiln/paths"
	"kiln/render"
	"kiln/render/media"
)

// outsideTwin returns why what is called name must not be written, or nil: a review twin is made
// for git, so nothing with secrets goes into its folder or below. The flag is the one that says
// where to write.
func outsideTwin(flag, name string) error {
	for dir, child := paths.Resolve(name), ""; dir != child; dir, child = filepath.Dir(dir), dir {
		if render.ReadTwin(dir) != nil {
			return fmt.Errorf("--%s %s: %s is a review twin, made for git; name another folder with --%s",
				flag, name, paths.Short(dir), flag)
		}
	}
	return nil
}

// strays returns an error for each file in the folder of a review twin that holds secrets by its
// name, and that no render of the twin would take away: it lies outside the twin's own folders.
// Of a folder below the twin the first such file is named. Notes and pictures are left alone.
func strays(dir string) error {
	if dir == "" {
		return nil
	}
	twin := render.ReadTwin(dir)
	if twin == nil {
		return nil
	}
	var errs []error
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		below, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		switch own := slices.Contains(twin.Folders, filepath.ToSlash(below)); {
		case e.IsDir() && (own || e.Name() == ".git"):
			return fs.SkipDir
		case !e.IsDir() && below != render.IndexFile && secretName(e.Name()):
			errs = append(errs, fmt.Errorf("%s: holds secrets, or may, and %s is a review twin, made for git; "+
				"take it out, out of git's history too if it was committed", name, filepath.Clean(dir)))
			if filepath.Dir(below) != "." {
				return fs.SkipDir // the folder is named once
			}
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// twinWithoutBundle returns an error if a twin shows that the cluster is there already, and its
// bundle is missing: the twin that --review names, or the folder review beside the configuration.
func (f *renderFlags) twinWithoutBundle(bundle, cluster string) error {
	for _, dir := range []string{f.review, filepath.Join(filepath.Dir(f.config), "review")} {
		if dir == "" {
			continue
		}
		switch twin := render.ReadTwin(dir); {
		case twin == nil:
		case twin.Name == cluster:
			return fmt.Errorf("%s is the twin of %s (%s), and its bundle %s is missing: a new one would be another cluster; "+
				"restore the bundle, or name it with --secrets", filepath.Clean(dir), twin.Name, twin.Cluster, bundle)
		case dir == f.review:
			return fmt.Errorf("%s is the twin of %s (%s), and this is %s; name another folder with --review",
				filepath.Clean(dir), twin.Name, twin.Cluster, cluster)
		}
	}
	return nil
}

// secretName reports whether kiln gives such a name to a file with secrets, or to one that lies
// beside such files: the INDEX of an unpacked machine, the list of a folder.
func secretName(name string) bool {
	return slices.Contains([]string{
		render.InventoryFile, render.AdminFile, render.IndexFile, media.IndexFile,
		"config.ign", "user-data", "body.ign", "body.sh",
	}, name) || slices.ContainsFunc([]string{".iso", ".cpio.gz", ".secrets.yaml"}, func(end string) bool {
		return strings.HasSuffix(name, end)
	})
}

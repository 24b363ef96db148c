package render

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
)

// openTwin opens the twin's folder. It fails if the folder belongs to another cluster or holds
// other files than a twin, because finishTwin removes every file in the folders of rendered
// machines that is not rendered. In the folder of a machine that is gone it removes what the INDEX
// there names: the INDEX of the twin may come from anybody, and may name any folder.
func (w *writer) openTwin() (err error) {
	dir := w.options.Review
	o := folder.Options{
		Dir: dir, Mode: 0o644, Check: w.options.Check,
		What: "a review twin", Flag: "--review", Folders: true,
		List: review.IndexFile, Paths: func(list []byte) ([]string, error) {
			heading, err := review.ParseHeading(filepath.Join(dir, review.IndexFile), list)
			if err != nil {
				return nil, err
			}
			if heading.Cluster != w.cluster.Public.Cluster {
				err = w.foreign(dir, heading.Name, heading.Cluster, "--review")
			}
			return heading.Folders, err
		},
		Inside: func(dir string, read func(name string) ([]byte, error)) (names []string) {
			for _, list := range []string{review.IndexFile, review.IndexFile + folder.Suffix} {
				if index, err := read(path.Join(dir, list)); err == nil {
					names = append(names, review.FolderFiles(dir, index)...)
				}
			}
			return names
		},
	}
	if o.Check {
		o.Differs = func(name string, old, now []byte) {
			if len(w.diffs) < maxDiffs {
				w.diffs = append(w.diffs, Diff{Name: name, Lines: unifiedDiff(old, now)})
			}
		}
	}
	w.review, err = folder.Open(o)
	return err
}

// finishTwin stages the twin, and marks every other file in the folders of machines for removal.
func (w *writer) finishTwin() error {
	files := w.twin.Files()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.review.Stage(name, files[name]); err != nil {
			return err
		}
	}
	return w.review.MarkStale(w.twin.Folders()...)
}

// TwinState reads the review twin in the folder dir.
func TwinState(dir string) (*change.Cluster, error) {
	root, err := folder.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	c, err := review.ReadFrom(func(name string) ([]byte, error) {
		return readInside(root, dir, name)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return c, nil
}

// IsTwin reports whether a folder has an INDEX, as a review twin has.
func IsTwin(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, review.IndexFile))
	return err == nil
}

// ReadTwin returns the heading of the review twin in the folder dir. It returns nil if the folder
// holds none: if its INDEX is missing or is not that of a twin.
func ReadTwin(dir string) *review.Heading {
	name := filepath.Join(dir, review.IndexFile)
	data, err := folder.Read(name, maxTwinIndex)
	if err != nil {
		return nil
	}
	heading, err := review.ParseHeading(name, data)
	if err != nil {
		return nil
	}
	return heading
}

// TwinRoots returns the fingerprints of the CAs that the review twin in the folder dir shows, by
// their marks.
func TwinRoots(dir string) map[string]string {
	root, err := folder.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	return review.Roots(func(name string) ([]byte, error) {
		return folder.ReadInside(root, dir, name, maxTwinIndex)
	})
}

// maxTwinIndex is how many bytes the INDEX of a twin may have. The INDEX of 100,000 machines is
// smaller.
const maxTwinIndex = 256 << 20

package assembly

import (
	"errors"
	"fmt"

	"kiln/manifests"
	"kiln/patches"
	"kiln/render/config"
	"kiln/render/credential"
	"kiln/render/yamlfault"
)

// readAddon returns the documents of the add-on at path and the objects in them. A file is taken as
// it is, and a folder as kustomize builds it. Each line of an error names the add-on.
func readAddon(c *config.Cluster, path string) ([]byte, []manifests.Object, error) {
	stream := c.Text(path)
	if folder := c.Folder(path); folder != nil {
		var err error
		if stream, err = patches.Build(path, folder, holdsCredential); err != nil {
			return nil, nil, err
		}
	}
	objects, err := manifests.Read(stream)
	if err != nil && c.Folder(path) == nil {
		if f, ok := yamlfault.Find(stream, nil); ok {
			return nil, nil, fmt.Errorf("%s:%d:%d: %s", path, f.Line, f.Column, f.Message)
		}
	}
	if err != nil {
		var all []error
		for _, err := range unjoin(err) {
			all = append(all, fmt.Errorf("%s: %w", path, err))
		}
		return nil, nil, errors.Join(all...)
	}
	return stream, objects, nil
}

// holdsCredential reports whether a value of an add-on holds a credential, which no message may
// quote.
func holdsCredential(value string) bool { return credential.Holds([]byte(value)) }

// addonPath returns the field of the configuration that an object comes from: the entry of its
// add-on, which addon holds by the object's path, or the list of add-ons for an object of kiln.
func addonPath(addon map[string]int, o manifests.Object) string {
	if i, ok := addon[o.Path]; ok {
		return AddonField(i)
	}
	return "addons"
}

// AddonField returns the field of the configuration that names the i-th add-on.
func AddonField(i int) string { return fmt.Sprintf("addons[%d].path", i) }

// unjoin returns the errors that errors.Join made one of, or err alone.
func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

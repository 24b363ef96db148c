package media

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"slices"
)

// Index is netboot.json.
type Index struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Cluster    string `json:"cluster"` // the bundle's UUID
	URL        string `json:"url"`
	Machines   []Boot `json:"machines"`
	// Files lists the paths of all other files that kiln wrote.
	Files []string `json:"files"`
}

// kind is the kind of an index.
const kind = "Netboot"

// index adds the index of all files that were added before.
func (w *writer) index() {
	x := Index{
		APIVersion: "kiln.dev/v1alpha1", Kind: kind, Name: w.Cluster, Cluster: w.ID, URL: w.URL,
		Machines: w.result.Boots, Files: slices.Sorted(slices.Values(w.result.Paths)),
	}
	w.fail(w.addJSON(IndexFile, x))
}

// made matches the paths of files that Netboot makes.
var made = regexp.MustCompile(`^(boot\.ipxe|` +
	`ipxe/(pools/)?[a-z0-9.-]+\.ipxe|` +
	`initrd/(pools/)?[a-z0-9.-]+\.cpio\.gz|` +
	`installer/(pools/)?[a-z0-9.-]+\.ign|` +
	`matchbox/(ignition|profiles|groups)/[a-z0-9.-]+|` +
	`(pools/)?[a-z0-9.-]+/(config\.ign|user-data|meta-data|vendor-data|network-config|` +
	`body\.ign|body\.sh))$`)

// Made reports whether Netboot makes files with this path. The files that an index lists are
// replaced and removed, and an index may come from anybody.
func Made(name string) bool { return fs.ValidPath(name) && made.MatchString(name) }

// ParseIndex reads an index. It returns nil if data is no index.
func ParseIndex(data []byte) *Index {
	x := &Index{}
	if err := json.Unmarshal(data, x); err != nil || x.Kind != kind {
		return nil
	}
	return x
}

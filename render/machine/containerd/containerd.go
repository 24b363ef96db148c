// Package containerd adds tables of users to the configuration of the container runtime, and reads
// that configuration. kiln merges the tables itself: containerd 1.7 replaces a plugin's whole table
// by that of an imported file, so that an import with one runtime class would take away the sandbox
// image, the cgroups and the registries (LoadConfig in services/server/config, read at 1.7).
package containerd

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Dir is the folder of the files that are merged.
const Dir = "/etc/containerd/conf.d"

// Merged reports whether the file at a path is one that is merged.
func Merged(file string) bool { return path.Dir(file) == Dir && path.Ext(file) == ".toml" }

// version is the format of kiln's file: 1.7 reads no newer one, and 2.x migrates it.
const version = 2

// newNames are the plugins of version 3 that version 2 has under one other name.
var newNames = []string{"io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime"}

// table is a table of TOML.
type table = map[string]any

// Merge returns a configuration with the tables of another file. It fails if that file is not TOML,
// if it is of another version, and if it sets a key that the configuration has.
func Merge(own, more string) (string, error) {
	var to, from table
	if err := toml.Unmarshal([]byte(own), &to); err != nil {
		return "", fmt.Errorf("the configuration of kiln: %w", err)
	}
	if err := toml.Unmarshal([]byte(more), &from); err != nil {
		return "", readError(err)
	}
	if v, ok := from["version"]; ok && v != int64(version) {
		return "", fmt.Errorf("version is %v; write it for version %d, which containerd 1.7 and 2 "+
			"read, or leave version out", v, version)
	}
	delete(from, "version")
	if _, ok := from["imports"]; ok {
		return "", fmt.Errorf("imports: containerd would replace tables of kiln; "+
			"put the file in %s with files instead", Dir)
	}
	plugins, _ := from["plugins"].(table)
	for _, name := range newNames {
		if plugins[name] != nil {
			return "", fmt.Errorf("plugins.%q is a name of version 3; "+
				`write plugins."io.containerd.grpc.v1.cri", which containerd 2 migrates`, name)
		}
	}
	if err := merge(to, from, ""); err != nil {
		return "", err
	}
	out, err := toml.Marshal(to)
	return string(out), err
}

// readError returns why a file is not TOML, with the line.
func readError(err error) error {
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, column := at.Position()
		return fmt.Errorf("line %d, column %d: is not TOML: %s", line, column,
			strings.TrimPrefix(at.Error(), "toml: "))
	}
	return fmt.Errorf("is not TOML: %w", err)
}

// merge adds the keys of one table to another one. at is the path of both.
func merge(to, from table, at string) error {
	for _, key := range slices.Sorted(maps.Keys(from)) {
		where := strings.TrimPrefix(at+"."+key, ".")
		before, exists := to[key]
		if !exists {
			to[key] = from[key]
			continue
		}
		inner, ok := before.(table)
		more, isTable := from[key].(table)
		if !ok || !isTable {
			return fmt.Errorf("%s is set by kiln or by another file; remove it", where)
		}
		if err := merge(inner, more, where); err != nil {
			return err
		}
	}
	return nil
}

// SandboxImage returns the sandbox image that a configuration names. It fails if the configuration
// is not TOML.
func SandboxImage(text []byte) (string, error) {
	var conf struct {
		Plugins struct {
			CRI struct {
				SandboxImage string `toml:"sandbox_image"`
			} `toml:"io.containerd.grpc.v1.cri"`
		} `toml:"plugins"`
	}
	err := toml.Unmarshal(text, &conf)
	return conf.Plugins.CRI.SandboxImage, err
}

// Package manifests holds the Kubernetes objects of a cluster as plain, valid YAML, and puts a
// plan's values into them. Package assembly applies the user's patches afterwards. Package
// manifests also builds kubeconfigs, and knows the path in the API of every object.
package manifests

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed *.yaml apiserver/*.yaml objects/*.yaml haproxy.cfg
var files embed.FS

func base(names ...string) []byte {
	var parts [][]byte
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			panic("manifests: " + err.Error())
		}
		parts = append(parts, data)
	}
	return Join(parts...)
}

// embedded decodes into v the first object of that kind in an embedded file.
func embedded(file, kind string, v any) {
	objects, err := Read(base(file))
	if err != nil {
		panic("manifests: " + file + ": " + err.Error())
	}
	i := slices.IndexFunc(objects, func(o Object) bool { return o.Kind == kind })
	if i < 0 {
		panic("manifests: " + file + " has no " + kind)
	}
	if err := objects[i].Decode(v); err != nil {
		panic("manifests: " + file + ": " + err.Error())
	}
}

// File returns the name and text of the embedded file with such an object; empty if none has it.
func File(kind, name string) (file string, text []byte) {
	path, ok := fileOf()[[2]string{kind, name}]
	if !ok {
		return "", nil
	}
	return "manifests/" + path, base(path)
}

// fileOf returns the path of each embedded object's file, by the object's kind and name.
var fileOf = sync.OnceValue(func() map[[2]string]string {
	found := map[[2]string]string{}
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		objects, err := Read(base(path))
		for _, o := range objects {
			found[[2]string{o.Kind, o.Name}] = path
		}
		return err
	})
	if err != nil {
		panic("manifests: " + err.Error())
	}
	return found
})

// Join returns one stream of these documents and streams; it leaves out empty ones.
func Join(parts ...[]byte) []byte {
	parts = slices.DeleteFunc(parts, func(part []byte) bool { return len(part) == 0 })
	return bytes.Join(parts, []byte("---\n"))
}

// object is an API object, or a part of one, as a value to be marshalled.
type object = map[string]any

type list = []any

func marshal(v any) []byte {
	out, err := yaml.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("manifests: %v", err))
	}
	return out
}

// Package manifests holds the Kubernetes objects of a cluster as plain, valid YAML, and the values that a plan puts
// into them, as patches: the renderer applies both, and then the user's patches, through one engine. It also
// builds kubeconfigs and knows under which path the API server keeps an object.
package manifests

import (
	"bytes"
	"embed"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"
)

//go:embed *.yaml apiserver/*.yaml objects/*.yaml haproxy.cfg
var files embed.FS

// Source is a stream of YAML documents and the strategic merge patches that put the cluster's own values into it.
type Source struct {
	Base    []byte
	Patches []string
}

// base returns the embedded manifests of that name, joined.
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

// Join makes one stream of documents and streams; empty ones are left out.
func Join(parts ...[]byte) []byte {
	parts = slices.DeleteFunc(parts, func(part []byte) bool { return len(part) == 0 })
	return bytes.Join(parts, []byte("---\n"))
}

// object is an API object as a value to be marshalled.
type object = map[string]any

// list is a list in an object.
type list = []any

// patch returns value as a strategic merge patch for the object of that kind and name.
func patch(apiVersion, kind, namespace, name string, value object) string {
	metadata := object{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	if more, ok := value["metadata"].(object); ok {
		for k, v := range more {
			metadata[k] = v
		}
	}
	p := object{"apiVersion": apiVersion, "kind": kind}
	for k, v := range value {
		p[k] = v
	}
	p["metadata"] = metadata
	return string(marshal(p))
}

// marshal writes a value of our own making, which cannot fail.
func marshal(v any) []byte {
	out, err := yaml.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("manifests: %v", err))
	}
	return out
}

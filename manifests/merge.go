package manifests

import (
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/text/yamltext"
)

// mergeKeys holds the lists of pods and pod templates whose members a strategic merge patch merges:
// each has a key by which its members are the same. All other lists are replaced.
var mergeKeys = map[string]string{
	"containers": "name", "initContainers": "name", "env": "name",
	"volumes": "name", "volumeMounts": "mountPath",
}

// Stream returns the source's objects with the first n steps of all patches. For values of the
// right kinds the result is that of kustomize (render/stream_test.go): keys are sorted, and
// comments are gone. A value of another kind replaces what was there, and the check of kinds
// refuses it. A source without patches is returned as it is. Stream fails if the base cannot be
// read, or if a patch is for an object that is not there.
func (s Source) Stream(n int) ([]byte, error) {
	if len(s.Patches) == 0 { // add-ons, which only kustomize reads as kustomize does
		return s.Base, nil
	}
	var objects []object
	for _, doc := range yamltext.Split(s.Base) {
		var o object
		if err := yaml.Unmarshal(doc, &o); err != nil {
			return nil, err
		}
		if len(o) > 0 {
			objects = append(objects, o)
		}
	}
	for _, patch := range s.first(n) {
		found := false
		for i, o := range objects {
			if sameObject(o, patch) {
				objects[i], found = strategic(o, patch), true
			}
		}
		if !found {
			return nil, fmt.Errorf("a patch of kiln's is for %v %v, which is not there",
				patch["kind"], patch["metadata"])
		}
	}
	docs := make([][]byte, len(objects))
	for i, o := range objects {
		docs[i] = marshal(o)
	}
	return Join(docs...), nil
}

func sameObject(a, b object) bool {
	name := func(o object, key string) any {
		metadata, _ := o["metadata"].(object)
		return metadata[key]
	}
	return a["kind"] == b["kind"] && name(a, "name") == name(b, "name") &&
		name(a, "namespace") == name(b, "namespace")
}

// strategic returns a with the values of a strategic merge patch. Neither is changed.
func strategic(a, patch object) object {
	out := maps.Clone(a)
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(out, key)
			continue
		case object:
			before, _ := out[key].(object)
			if before == nil {
				before = object{}
			}
			value = strategic(before, v)
		case list:
			if before, ok := out[key].(list); ok && mergeKeys[key] != "" {
				value = strategicList(before, v, mergeKeys[key])
			}
		}
		out[key] = value
	}
	return out
}

// strategicList returns a with the members of a patch: first these, merged with those of a that
// have the same key, and then the others of a.
func strategicList(a, patch list, key string) (out list) {
	rest := slices.Clone(a)
	for _, v := range patch {
		more, before := v.(object), object{}
		same := func(v any) bool { return v.(object)[key] == more[key] }
		if at := slices.IndexFunc(rest, same); at >= 0 {
			before = rest[at].(object)
			rest = slices.Delete(rest, at, at+1)
		}
		out = append(out, strategic(before, more))
	}
	return append(out, rest...)
}

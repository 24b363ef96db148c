package explain

import (
	"bytes"
	"strings"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/text/yamltext"
)

// kept is an object as one stage left it: the part that the stage changed, and the text that has
// the others. All texts would be long.
type kept struct {
	manifests.Object // without its content

	base       string // a text of the object, which many stages share
	begin, end int    // how many bytes at both ends of base are in the text of this stage
	middle     string // what stands between them
}

// newKept returns an object with a text. before is the object as a stage before it left it, if any.
func newKept(o manifests.Object, text string, before *kept) *kept {
	o = manifests.Object{Path: o.Path, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name,
		Asked: o.Asked}
	if before != nil {
		base, begin, end := before.base, 0, 0
		shorter := min(len(base), len(text))
		for begin < shorter && base[begin] == text[begin] {
			begin++
		}
		for end < shorter-begin && base[len(base)-1-end] == text[len(text)-1-end] {
			end++
		}
		if middle := text[begin : len(text)-end]; len(middle) <= len(text)/2 {
			return &kept{o, base, begin, end, strings.Clone(middle)}
		}
	}
	return &kept{o, text, len(text), 0, ""}
}

func (k *kept) object() manifests.Object {
	o := k.Object
	o.YAML = []byte(k.base[:k.begin] + k.middle + k.base[len(k.base)-k.end:])
	return o
}

// keeper keeps the objects of a stream after each stage.
type keeper struct {
	texts map[string]*kept // of the last stage
	paths map[string]*kept // in the API
}

// keep returns the objects of a stream, and parses those that are new.
func (k *keeper) keep(stream []byte) (all []*kept, err error) {
	read := map[string]manifests.Object{}
	if bytes.Contains(stream, []byte("CustomResourceDefinition")) {
		objects, err := manifests.Read(stream)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			read[string(o.YAML)] = o
		}
	}
	texts, paths := map[string]*kept{}, map[string]*kept{}
	for _, doc := range yamltext.Split(stream) {
		text := string(doc)
		o, isRead := read[text]
		is := k.texts[text]
		switch {
		case isRead && is != nil && is.Path != o.Path:
			is = nil
		case !isRead && is == nil:
			objects, err := manifests.Read(doc)
			if err != nil {
				return nil, err
			}
			if len(objects) == 0 {
				continue // comments
			}
			o = objects[0]
		}
		if is == nil {
			is = newKept(o, text, k.paths[o.Path])
		}
		texts[text], paths[is.Path] = is, is
		all = append(all, is)
	}
	k.texts, k.paths = texts, paths
	return all, nil
}

package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/text/yamltext"
)

// Object is one API object, ready to be applied.
type Object struct {
	Path      string // in the API, without the server: see Asked
	Kind      string
	Namespace string
	Name      string
	Secret    bool // its content must not be shown
	YAML      []byte

	// Asked says that the definition of the kind is elsewhere, in an operator perhaps. Path has the
	// kind in the place of the resource, and a namespace if the object names one: only the API
	// server knows what the resource is called, and whether its objects have a namespace.
	Asked bool

	parsed *parsed
}

// Is reports whether both are one object of the API. One of them may have been read without the
// definition of its kind.
func (o Object) Is(other Object) bool {
	version := func(p string) []string { return strings.SplitN(p, "/", 5)[:4] } // "", apis, …
	return o.Path == other.Path || o.Asked && o.Kind == other.Kind && o.Name == other.Name &&
		o.Namespace == other.Namespace && slices.Equal(version(o.Path), version(other.Path))
}

// maxObject is the size of an object that etcd takes in one request, 1.5 MiB, with room for what
// the API server adds.
const maxObject = 3<<19 - 64<<10

// header holds the fields of an object that Read needs.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	// Only of a CustomResourceDefinition.
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind   string `json:"kind"`
			Plural string `json:"plural"`
		} `json:"names"`
	} `json:"spec"`
}

// customResource is the kind that defines others.
const customResource = "CustomResourceDefinition"

// Mistake is why a document is no object of the API.
type Mistake struct {
	Line    int  // of the stream, from 1
	Syntax  bool // it is not YAML, or has a key twice
	Message string
}

// Error returns the line and the message.
func (m *Mistake) Error() string { return fmt.Sprintf("line %d: %s", m.Line, m.Message) }

// Read splits a stream of YAML documents into objects with their paths, in their order, without the
// empty documents. Of a list, such as List or RoleList, it takes the items. It fails with a Mistake
// on the first document that is no object, or that has a key twice. It also fails if the API would
// refuse names of objects, with all of these as joined errors.
//
// Objects of a kind that a CustomResourceDefinition among them defines have the path that it says,
// objects of the API server's own kinds theirs. The kinds of all others are asked for. An object
// that may name a namespace and names none is in the namespace default.
func Read(stream []byte) ([]Object, error) {
	type resource struct {
		plural  string
		cluster bool
	}
	custom := map[string]resource{}
	var heads []header
	var bodies [][]byte
	var all []*parsed
	var wrong []error
	for _, d := range split(stream) {
		mistake := func(format string, args ...any) *Mistake {
			return &Mistake{Line: d.line + comments(d.text), Message: fmt.Sprintf(format, args...)}
		}
		doc := d.text
		var h header
		text, err := yaml.YAMLToJSONStrict(doc)
		if err != nil {
			inside, message := firstMistake(err)
			return nil, &Mistake{Line: d.line + max(0, inside-1), Syntax: true, Message: message}
		}
		if string(text) == "null" {
			continue
		}
		if !bytes.HasPrefix(text, []byte("{")) {
			return nil, mistake("not an object")
		}
		// The spec of most kinds does not have the shape of a definition's; only the header must
		// decode. A name may be a number, which this library reads as a string.
		if json.Unmarshal(text, &h) != nil {
			_ = yaml.Unmarshal(text, &h)
		}
		switch {
		case h.APIVersion == "" || h.Kind == "":
			return nil, mistake("apiVersion or kind is missing")
		case h.Metadata.Name == "":
			return nil, mistake("%s has no metadata.name%s", h.Kind, hintOf(h))
		case len(text) > maxObject:
			return nil, mistake("%s %s has %d bytes as JSON; etcd takes no object above %d", h.Kind,
				h.Metadata.Name, len(text), maxObject)
		}
		if problem := h.problem(); problem != "" {
			wrong = append(wrong, mistake("%s %q: %s", h.Kind, h.Metadata.Name, problem))
			continue
		}
		if h.Kind == customResource {
			custom[h.Spec.Group+"/"+h.Spec.Names.Kind] = resource{h.Spec.Names.Plural,
				h.Spec.Scope == "Cluster"}
		}
		heads, bodies = append(heads, h), append(bodies, doc)
		all = append(all, &parsed{text: text})
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	var out []Object
	for i, h := range heads {
		gv, err := schema.ParseGroupVersion(h.APIVersion)
		if err != nil {
			return nil, fmt.Errorf("%s %s: apiVersion: %w", h.Kind, h.Metadata.Name, err)
		}
		is, defined := custom[gv.Group+"/"+h.Kind]
		kinds, own := clusterKinds()[gv.Group]
		switch {
		case defined:
		case own:
			guess, _ := meta.UnsafeGuessKindToResource(gv.WithKind(h.Kind))
			is = resource{guess.Resource, slices.Contains(kinds, h.Kind)}
		default:
			is = resource{h.Kind, h.Metadata.Namespace == ""}
		}
		path := "/apis/" + h.APIVersion
		if gv.Group == "" {
			path = "/api/" + h.APIVersion
		}
		if !is.cluster {
			namespace := h.Metadata.Namespace
			if namespace == "" {
				namespace = "default"
			}
			path += "/namespaces/" + url.PathEscape(namespace)
		}
		path += "/" + is.plural + "/" + url.PathEscape(h.Metadata.Name)
		out = append(out, Object{Path: path, Kind: h.Kind, Namespace: h.Metadata.Namespace,
			Name: h.Metadata.Name, Secret: h.Kind == "Secret", YAML: bodies[i],
			Asked: !defined && !own, parsed: all[i]})
	}
	return out, nil
}

// firstMistake returns the first mistake that an error of the YAML decoder names, on one line, and
// its line in the document, 0 if it has none.
func firstMistake(err error) (line int, message string) {
	text := yamltext.Message(err)
	if _, after, ok := strings.Cut(text, "unmarshal errors:\n"); ok {
		text, _, _ = strings.Cut(strings.TrimSpace(after), "\n")
	}
	if n, _ := fmt.Sscanf(strings.TrimPrefix(text, "yaml: "), "line %d:", &line); n == 1 {
		_, text, _ = strings.Cut(text, ": ")
		if strings.HasPrefix(text, "line ") {
			_, text, _ = strings.Cut(text, ": ")
		}
	}
	if strings.HasSuffix(text, `key "apiVersion" already set in map`) {
		text = "another object begins here; write --- on a line before it"
	}
	return line, text
}

// comments returns how many lines a document has before its first that is no comment.
func comments(doc []byte) (n int) {
	for line := range bytes.Lines(doc) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return n
		}
		n++
	}
	return 0
}

// hintOf returns what to do about an object without a name.
func hintOf(h header) string {
	switch {
	case h.Kind == "Kustomization":
		return ": it is for kustomize; name its folder in place of the file"
	case strings.HasSuffix(h.Kind, "List"):
		return ", nor items"
	}
	return ""
}

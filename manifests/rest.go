package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	yamlv3 "go.yaml.in/yaml/v3"
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

// maxObject is what etcd takes in one request, 1.5 MiB, less what the API server adds.
const maxObject = 3<<19 - 64<<10

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

func hintOf(h header) string {
	switch {
	case h.Kind == "Kustomization":
		return ": it is for kustomize; name its folder in place of the file"
	case strings.HasSuffix(h.Kind, "List"):
		return ", nor items"
	}
	return ""
}

// builtIn are the groups of the API server's own kinds, and which of their kinds have no namespace.
const builtIn = `
core: ComponentStatus Namespace Node PersistentVolume
admissionregistration.k8s.io: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
admissionregistration.k8s.io: MutatingWebhookConfiguration ValidatingAdmissionPolicy
admissionregistration.k8s.io: ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration
apiextensions.k8s.io: CustomResourceDefinition
apiregistration.k8s.io: APIService
apps:
authentication.k8s.io:
authorization.k8s.io:
autoscaling:
batch:
certificates.k8s.io: CertificateSigningRequest ClusterTrustBundle
coordination.k8s.io:
discovery.k8s.io:
events.k8s.io:
flowcontrol.apiserver.k8s.io: FlowSchema PriorityLevelConfiguration
internal.apiserver.k8s.io: StorageVersion
networking.k8s.io: IPAddress IngressClass ServiceCIDR
node.k8s.io: RuntimeClass
policy:
rbac.authorization.k8s.io: ClusterRole ClusterRoleBinding
resource.k8s.io: DeviceClass DeviceTaintRule ResourcePoolStatusRequest ResourceSlice
scheduling.k8s.io: PriorityClass
storage.k8s.io: CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass
storagemigration.k8s.io: StorageVersionMigration
`

// clusterKinds returns the table by group.
var clusterKinds = sync.OnceValue(func() map[string][]string {
	kinds := map[string][]string{}
	for line := range strings.Lines(builtIn) {
		if group, list, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			group = strings.TrimSuffix(group, "core") // the core group has no name
			kinds[group] = append(kinds[group], strings.Fields(list)...)
		}
	}
	return kinds
})

// Unpack returns a stream with the items of its lists in their place, as documents of their own.
func Unpack(stream []byte) []byte {
	var all [][]byte
	unpacked := false
	for _, d := range split(stream) {
		all = append(all, d.text)
		unpacked = unpacked || d.item
	}
	if !unpacked {
		return stream
	}
	return Join(all...)
}

// document is a document of a stream, or an item of a list.
type document struct {
	text []byte
	line int // of the stream, from 1
	item bool
}

// split divides a stream into its documents, and lists into their items, as kubectl does.
func split(stream []byte) (all []document) {
	for _, part := range yamltext.Parts(stream) {
		all = append(all, unpack(document{text: part.Text, line: part.Line})...)
	}
	return all
}

// listKind is what every list has, and some others, such as definitions.
var listKind = []byte("List")

// unpack returns the items of a document that is a list, and theirs. An item without apiVersion and
// kind has those of its list. A document that is no list, or not YAML, stays as it is.
func unpack(d document) []document {
	var list struct {
		APIVersion string      `yaml:"apiVersion"`
		Kind       string      `yaml:"kind"`
		Items      yamlv3.Node `yaml:"items"`
	}
	if !bytes.Contains(d.text, listKind) || yamlv3.Unmarshal(d.text, &list) != nil ||
		!strings.HasSuffix(list.Kind, "List") ||
		list.Items.Kind != yamlv3.SequenceNode && list.Items.Tag != "!!null" {
		return []document{d}
	}
	text, err := yaml.YAMLToJSONStrict(d.text)
	var raw struct {
		Items []map[string]json.RawMessage `json:"items"`
	}
	if err != nil || json.Unmarshal(text, &raw) != nil {
		return []document{d}
	}
	var all []document
	for i, item := range raw.Items {
		if kind := strings.TrimSuffix(list.Kind, "List"); item["kind"] == nil && kind != "" {
			item["apiVersion"], _ = json.Marshal(list.APIVersion)
			item["kind"], _ = json.Marshal(kind)
		}
		one, _ := json.Marshal(item)
		one, _ = yaml.JSONToYAML(one)
		line := d.line + list.Items.Content[i].Line - 1
		all = append(all, unpack(document{text: one, line: line, item: true})...)
	}
	return all
}

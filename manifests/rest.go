package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/text/yamltext"
)

// Object is one API object, ready to be applied.
type Object struct {
	Path      string // in the API, without the server
	Kind      string
	Namespace string
	Name      string
	Secret    bool // its content must not be shown
	YAML      []byte

	parsed *parsed
}

// clusterWide holds the built-in kinds without a namespace. An object of another kind is in the
// namespace default if it names none, unless a CustomResourceDefinition among the objects says
// otherwise.
var clusterWide = map[string]bool{
	"APIService": true, "CSIDriver": true, "CSINode": true, "CertificateSigningRequest": true,
	"ClusterRole": true, "ClusterRoleBinding": true, "ClusterTrustBundle": true,
	"ComponentStatus": true, "CustomResourceDefinition": true, "DeviceClass": true,
	"FlowSchema": true, "IPAddress": true, "IngressClass": true, "MutatingAdmissionPolicy": true,
	"MutatingAdmissionPolicyBinding": true, "MutatingWebhookConfiguration": true, "Namespace": true,
	"Node": true, "PersistentVolume": true, "PriorityClass": true,
	"PriorityLevelConfiguration": true, "ResourceSlice": true, "RuntimeClass": true,
	"ServiceCIDR": true, "StorageClass": true, "StorageVersionMigration": true,
	"ValidatingAdmissionPolicy": true, "ValidatingAdmissionPolicyBinding": true,
	"ValidatingWebhookConfiguration": true, "VolumeAttachment": true, "VolumeAttributesClass": true,
}

// maxObject is the size of an object that etcd takes in one request, with room for what the API
// server adds.
const maxObject = 1 << 20

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

// Read splits a stream of YAML documents into objects with their paths, in their order, without the
// empty documents. It fails on the first document that is a list or no object, or that has a key
// twice, with the document's place in the stream. It also fails if the API would refuse names of
// objects, with all of these as joined errors.
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
	for i, doc := range yamltext.Split(stream) {
		var h header
		text, err := yaml.YAMLToJSONStrict(doc)
		if err != nil {
			return nil, fmt.Errorf("document %d: %s", i+1, firstMistake(err))
		}
		if string(text) == "null" {
			continue
		}
		if !bytes.HasPrefix(text, []byte("{")) {
			return nil, fmt.Errorf("document %d: not an object", i+1)
		}
		// The spec of most kinds does not have the shape of a definition's; only the header must
		// decode. A name may be a number, which this library reads as a string.
		if json.Unmarshal(text, &h) != nil {
			_ = yaml.Unmarshal(text, &h)
		}
		switch {
		case h.APIVersion == "" || h.Kind == "":
			return nil, fmt.Errorf("document %d: apiVersion or kind is missing", i+1)
		case strings.HasSuffix(h.Kind, "List"):
			return nil, fmt.Errorf("document %d: %s: lists cannot be applied; "+
				"write its items as documents of their own", i+1, h.Kind)
		case h.Metadata.Name == "":
			return nil, fmt.Errorf("document %d: %s has no metadata.name", i+1, h.Kind)
		case len(text) > maxObject:
			return nil, fmt.Errorf("document %d: %s %s has %d bytes as JSON; etcd takes no object "+
				"above %d", i+1, h.Kind, h.Metadata.Name, len(text), maxObject)
		}
		if problem := h.problem(); problem != "" {
			wrong = append(wrong, fmt.Errorf("document %d: %s %q: %s", i+1, h.Kind, h.Metadata.Name,
				problem))
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
		known, isCustom := custom[gv.Group+"/"+h.Kind]
		plural, cluster := known.plural, known.cluster
		if !isCustom {
			guess, _ := meta.UnsafeGuessKindToResource(gv.WithKind(h.Kind))
			plural, cluster = guess.Resource, clusterWide[h.Kind] && h.Metadata.Namespace == ""
		}
		path := "/apis/" + h.APIVersion
		if gv.Group == "" {
			path = "/api/" + h.APIVersion
		}
		if !cluster {
			namespace := h.Metadata.Namespace
			if namespace == "" {
				namespace = "default"
			}
			path += "/namespaces/" + url.PathEscape(namespace)
		}
		path += "/" + plural + "/" + url.PathEscape(h.Metadata.Name)
		out = append(out, Object{Path: path, Kind: h.Kind, Namespace: h.Metadata.Namespace,
			Name: h.Metadata.Name, Secret: h.Kind == "Secret", YAML: bodies[i], parsed: all[i]})
	}
	return out, nil
}

// firstMistake returns the first mistake that an error of the YAML decoder names, on one line.
func firstMistake(err error) string {
	text := yamltext.Message(err)
	if _, after, ok := strings.Cut(text, "unmarshal errors:\n"); ok {
		text, _, _ = strings.Cut(strings.TrimSpace(after), "\n")
	}
	if line, ok := strings.CutSuffix(text, ` key "apiVersion" already set in map`); ok {
		return line + " another object begins here; write --- on a line before it"
	}
	return text
}

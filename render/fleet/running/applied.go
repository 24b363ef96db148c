package running

import (
	"encoding/json"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/twin/change"
)

// Marker is what the marker says: a ConfigMap that is applied after all other API objects.
type Marker struct {
	Objects string // the digest of those that were applied; empty if an earlier kiln made it
	Failed  string // a line for each that the API server refused
}

// ParseMarker reads a marker, as JSON.
func ParseMarker(text []byte) (Marker, error) {
	var object struct {
		Data struct{ Objects, Failed string }
	}
	err := json.Unmarshal(text, &object)
	return Marker{object.Data.Objects, object.Data.Failed}, err
}

// Applied returns the digest of the API objects that were applied. It is empty if some of them were
// refused: then nobody knows which ones are there.
func (m Marker) Applied() string {
	if m.Failed != "" {
		return ""
	}
	return m.Objects
}

// appliedBy returns what an object from the API says of the objects that were applied; nothing if
// it is not the marker.
func appliedBy(text []byte) string {
	var head struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
	}
	if json.Unmarshal(text, &head) != nil || head.APIVersion != "v1" || head.Kind != "ConfigMap" ||
		manifests.MarkerPath != "/api/v1/namespaces/"+head.Metadata.Namespace+"/configmaps/"+
			head.Metadata.Name {
		return ""
	}
	m, err := ParseMarker(text)
	if err != nil {
		return ""
	}
	return m.Applied()
}

// Objects returns the digest of the API objects of a state, as its marker has it. It is empty if
// the state has none, or an earlier kiln made it.
func Objects(c *change.Cluster) string {
	for _, o := range c.Objects() {
		if o.Path == manifests.MarkerPath {
			var object struct{ Data map[string]string }
			if yaml.Unmarshal(o.Content, &object) != nil {
				return ""
			}
			return object.Data[manifests.MarkerObjects]
		}
	}
	return ""
}

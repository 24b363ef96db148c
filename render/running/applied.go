package running

import (
	"encoding/json"

	"sigs.k8s.io/yaml"

	"kiln/manifests"
	"kiln/render/change"
)

// marker is what is read of the marker: a ConfigMap that is applied after all other API objects,
// and says which they are.
type marker struct {
	APIVersion, Kind string
	Metadata         struct{ Name, Namespace string }
	Data             map[string]string
}

// applied returns the digest of the API objects that a marker in the API stands for. It is empty
// for another object, for a marker of an earlier kiln, and if objects were refused.
func applied(text json.RawMessage) string {
	var m marker
	if json.Unmarshal(text, &m) != nil || m.APIVersion != "v1" || m.Data["failed"] != "" ||
		!manifests.IsMarker(m.Kind, m.Metadata.Namespace, m.Metadata.Name) {
		return ""
	}
	return m.Data[manifests.MarkerObjects]
}

// Objects returns the digest of the API objects of a state, as its marker has it. It is empty if
// the state has none, or an earlier kiln made it.
func Objects(c *change.Cluster) string {
	for _, o := range c.Objects() {
		if o.Path == manifests.MarkerPath {
			var m marker
			if yaml.Unmarshal(o.Content, &m) != nil {
				return ""
			}
			return m.Data[manifests.MarkerObjects]
		}
	}
	return ""
}

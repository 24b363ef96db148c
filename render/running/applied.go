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
	Kind     string
	Metadata struct{ Name, Namespace string }
	Data     map[string]string
}

// applied returns the digest of the API objects that a marker in the API stands for. It is empty
// for another object, and for a marker of an earlier kiln.
func applied(text json.RawMessage) string {
	var m marker
	if json.Unmarshal(text, &m) != nil ||
		!manifests.IsMarker(m.Kind, m.Metadata.Namespace, m.Metadata.Name) {
		return ""
	}
	return m.Data[manifests.MarkerObjects]
}

// Objects returns the digest of the API objects of a state, as its marker has it. It is empty if
// the state has none, or an earlier kiln made it.
func Objects(c *change.Cluster) string {
	for _, machine := range c.Machines {
		for _, e := range machine.Entries {
			if name, ok := change.ObjectName(e.ID); ok && name == manifests.MarkerFile {
				var m marker
				if yaml.Unmarshal(e.Content, &m) != nil {
					return ""
				}
				return m.Data[manifests.MarkerObjects]
			}
		}
	}
	return ""
}

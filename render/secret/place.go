package secret

import (
	"strings"

	"kiln.dev/kiln/render/facts/node"
)

// Holders returns a description of the machines that hold secrets of this kind, in Markdown.
func (k *Kind) Holders() string {
	if len(k.Roles) == 0 {
		return "no machine"
	}
	plurals := map[string]string{
		node.ControlPlane: "control planes", node.Worker: "workers", node.Etcd: "etcd machines",
	}
	names := make([]string, len(k.Roles))
	for i, role := range k.Roles {
		names[i] = plurals[role]
	}
	holders := strings.Join(names, ", ")
	if len(k.Roles) == len(onAll) {
		holders = "all"
	}
	if k.When != "" {
		holders += " with " + k.When
	}
	return holders
}

// Place returns, for a message, the machines that hold secrets of this kind and the path there.
func (k *Kind) Place() string {
	place := strings.ReplaceAll(k.Holders(), "`", "")
	if k.Path != "" {
		place += " in " + k.Path
	}
	return place
}

package secret

import (
	"fmt"
	"slices"
	"strings"

	"kiln/render/facts/node"
)

// thefts are the machines that an attacker may have: their role, and which rows of that role they
// have.
var thefts = []struct {
	what string
	role string
	only func(k *Kind) bool // nil means all
}{
	{"a worker, or its document", node.Worker, func(k *Kind) bool {
		return k.Worth == OfMachine
	}},
	{"a pool's document", node.Worker, func(k *Kind) bool {
		return k.Name == "token/{pool}" || k.Name == "file {path}"
	}},
	{"an etcd machine, or its document", node.Etcd, nil},
	{"a control plane, or its document", node.ControlPlane, nil},
	{"a control plane with `certificates.signing: offline`", node.ControlPlane,
		func(k *Kind) bool { return k.Name != "ca" }},
}

// ThiefPage returns the table of what an attacker with a machine or its document has, as
// docs/exposure.md shows it, in Markdown.
func ThiefPage() string {
	var b strings.Builder
	b.WriteString("| an attacker with | has | worth |\n|---|---|---|\n")
	for _, t := range thefts {
		var names []string
		worth := None
		for i := range Kinds {
			k := &Kinds[i]
			if !slices.Contains(k.Roles, t.role) || t.only != nil && !t.only(k) {
				continue
			}
			names = append(names, "`"+k.Name+"`")
			worth = max(worth, k.Worth)
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", t.what, strings.Join(names, ", "), worth)
	}
	var kept []string
	for i := range Kinds {
		if k := &Kinds[i]; k.Until == untilRotated { // those that the bundle keeps
			kept = append(kept, "`"+k.Name+"`")
		}
	}
	fmt.Fprintf(&b, "| the bundle | %s, and with them every secret of every machine, also of "+
		"those to come | `%s` |\n", strings.Join(kept, ", "), OfCluster)
	fmt.Fprintf(&b, "| `admin.conf` | `admin` | `%s` |\n", OfCluster)
	return b.String()
}

package render_test

import (
	"fmt"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/secret"
)

// secretTable returns the table of secrets as docs/secrets.md shows it, in Markdown.
func secretTable() string {
	var b strings.Builder
	b.WriteString("| secret | is | on | lies in | who uses it | until | worth |\n" +
		"|---|---|---|---|---|---|---|\n")
	for i := range secret.Kinds {
		k := &secret.Kinds[i]
		path := ""
		if k.Path != "" {
			path = "`" + k.Path + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | `%s` |\n",
			k.Name, k.Is, k.Holders(), path, k.User, k.Until, k.Worth)
	}
	return b.String()
}

// deeds are what a thief can do with secrets of each Worth.
var deeds = []string{
	secret.None: "learn names, addresses, versions and settings",
	secret.OfMachine: "be that kubelet or that program: a kubelet reads the Secrets of the pods " +
		"on its Node; kiln does not know what your own files and Secrets open",
	secret.OfJoin: "join machines until the token ends, and so be any kubelet that is no control " +
		"plane's",
	secret.OfCluster: "own the cluster: sign or take any identity, or read and write all of etcd",
}

// worthTable returns the table of worths as docs/exposure.md shows it, in Markdown.
func worthTable() string {
	var b strings.Builder
	b.WriteString("| `maxExposure` | secrets | a thief can |\n|---|---|---|\n")
	for i, permits := range deeds {
		worth := secret.Worth(i)
		var names []string
		for j := range secret.Kinds {
			if k := &secret.Kinds[j]; k.Worth == worth {
				names = append(names, "`"+k.Name+"`")
			}
		}
		secrets := worth.Secrets()
		if len(names) > 0 {
			secrets += ": " + strings.Join(names, ", ")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", worth, secrets, permits)
	}
	return b.String()
}

// thefts are the machines that an attacker may have: their role, and which rows of that role they
// have.
var thefts = []struct {
	what string
	role string
	only func(k *secret.Kind) bool // nil means all
}{
	{"a worker, or its document", node.Worker, func(k *secret.Kind) bool {
		return k.Worth == secret.OfMachine
	}},
	{"a pool's document", node.Worker, func(k *secret.Kind) bool {
		return k.Name == "token/{pool}" || k.Name == "file {path}"
	}},
	{"an etcd machine, or its document", node.Etcd, nil},
	{"a control plane, or its document", node.ControlPlane, nil},
	{"a control plane with `certificates.signing: offline`", node.ControlPlane,
		func(k *secret.Kind) bool { return k.Name != "ca" }},
}

// thiefTable returns the table of what an attacker with a machine or its document has, as
// docs/exposure.md shows it, in Markdown.
func thiefTable() string {
	var b strings.Builder
	b.WriteString("| an attacker with | has | worth |\n|---|---|---|\n")
	for _, t := range thefts {
		var names []string
		worth := secret.None
		for i := range secret.Kinds {
			k := &secret.Kinds[i]
			if !slices.Contains(k.Roles, t.role) || t.only != nil && !t.only(k) {
				continue
			}
			names = append(names, "`"+k.Name+"`")
			worth = max(worth, k.Worth)
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", t.what, strings.Join(names, ", "), worth)
	}
	var kept []string
	for i := range secret.Kinds {
		if k := &secret.Kinds[i]; k.Until == "it is replaced in the bundle" {
			kept = append(kept, "`"+k.Name+"`")
		}
	}
	fmt.Fprintf(&b, "| the bundle | %s, and with them every secret of every machine, also of "+
		"those to come | `%s` |\n", strings.Join(kept, ", "), secret.OfCluster)
	fmt.Fprintf(&b, "| `admin.conf` | `admin` | `%s` |\n", secret.OfCluster)
	return b.String()
}

// readerTable returns the table of kinds of readers as docs/exposure.md shows it, in Markdown.
func readerTable() string {
	var b strings.Builder
	b.WriteString("| reader | is | counts for `maxExposure` |\n|---|---|---|\n")
	for _, k := range target.ReaderKinds {
		counts := "no"
		if k.Counts {
			counts = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Name, k.Who, counts)
	}
	return b.String()
}

// platformTable returns the table of the readers of each platform as docs/exposure.md shows it, in
// Markdown. It leaves out those whom maxExposure does not count: every platform has them.
func platformTable() string {
	var b strings.Builder
	b.WriteString("| platform | reader | who reads a document there | closed by | source |\n" +
		"|---|---|---|---|---|\n")
	for i := range target.Platforms {
		p := &target.Platforms[i]
		found := false
		for _, r := range p.Readers {
			if !target.Counts(r.Kind) {
				continue
			}
			found = true
			closed := ""
			if r.Setting != "" {
				closed = "`" + r.Setting + ": deny`"
			}
			fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n",
				p.Name, r.Kind, r.Who, closed, r.Source)
		}
		if !found {
			fmt.Fprintf(&b, "| `%s` | | nobody else | | |\n", p.Name)
		}
	}
	return b.String()
}

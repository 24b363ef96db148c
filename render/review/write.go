package review

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"kiln/render/change"
	"kiln/render/plan"
	"kiln/render/secret"
)

// Names in a twin.
const (
	IndexFile    = "INDEX"
	sharedFolder = "shared"
)

// firstLine is the first line of a twin's INDEX, for fmt: the cluster's name and UUID, and the version of
// Kubernetes.
const firstLine = "kiln review twin of cluster %s %s Kubernetes %s\n"

// Write returns the review twin of a cluster by the paths below its folder. The twin is safe for git:
// secrets are names in it, and certificates lines. Each machine has a folder with its files as they will
// lie on it, and an INDEX of everything that it has.
//
// Machines share most of what they have. Written a thousand times nobody would read it, and one change
// would fill every list of changed files. So a shared entry is written once, with its line:
//
//   - shared/all has what every machine of the cluster has;
//   - shared/ROLE-OS has what more than half of the machines of that role and system have, and
//     shared/all does not. That is at most one entry for a path, so nothing has to be chosen;
//   - a machine's own folder has the rest. An entry there replaces the one of shared/ROLE-OS with the
//     same path; entries of shared/ROLE-OS that the machine lacks are named in its INDEX ("without").
//
// Where an entry lies depends on how many machines have it and never on the order of machines: one
// machine more or less moves nothing, unless it decides a majority. A group of one machine shares
// nothing. There are no hashes, since a change of what is shared would show on every machine.
//
// Equal entries must be the same pointer, as in what Read returns.
func Write(c *change.Cluster) map[string][]byte {
	out := map[string][]byte{IndexFile: index(c)}
	var machines []change.Entries
	for _, m := range c.Machines {
		machines = append(machines, m.Entries)
	}
	all := shared(machines, len(machines))
	writeFolder(out, path.Join(sharedFolder, "all"), "", all)
	groups := map[string][]change.Entries{}
	for _, m := range c.Machines {
		groups[group(m)] = append(groups[group(m)], without(m.Entries, all))
	}
	common := map[string]map[*change.Entry]bool{}
	for name, list := range groups {
		common[name] = shared(list, len(list)/2+1)
		writeFolder(out, path.Join(sharedFolder, name), "", common[name])
	}
	for _, m := range c.Machines {
		writeMachine(out, m, all, common[group(m)])
	}
	return out
}

// group is the name of the machines that share entries: those of one role and operating system.
func group(m *change.Machine) string { return m.Role + "-" + m.OS }

// writeMachine adds the folder of a machine: what it has beyond the shared entries.
func writeMachine(out map[string][]byte, m *change.Machine, all, common map[*change.Entry]bool) {
	var head strings.Builder
	if len(all) > 0 {
		fmt.Fprintf(&head, "with %s/all\n", sharedFolder)
	}
	if len(common) > 0 {
		fmt.Fprintf(&head, "with %s/%s\n", sharedFolder, group(m))
	}
	own, keys := map[*change.Entry]bool{}, map[change.Key]bool{}
	for _, e := range m.Entries {
		keys[e.Key] = true
		if !all[e] && !common[e] {
			own[e] = true
		}
	}
	for _, e := range sorted(common) {
		if !keys[e.Key] {
			fmt.Fprintf(&head, "without %s %s\n", e.Kind, e.ID)
		}
	}
	writeFolder(out, plan.Folder(m.Name, m.Pool), head.String(), own)
}

// shared returns the entries that at least so many machines have; none if there is only one machine.
func shared(machines []change.Entries, enough int) map[*change.Entry]bool {
	if len(machines) < 2 {
		return nil
	}
	count := map[*change.Entry]int{}
	for _, list := range machines {
		for _, e := range list {
			count[e]++
		}
	}
	out := map[*change.Entry]bool{}
	for e, n := range count {
		if n >= enough {
			out[e] = true
		}
	}
	return out
}

// without returns the entries that are not in a set.
func without(list change.Entries, set map[*change.Entry]bool) (out change.Entries) {
	for _, e := range list {
		if !set[e] {
			out = append(out, e)
		}
	}
	return out
}

func sorted(set map[*change.Entry]bool) []*change.Entry {
	return slices.SortedFunc(maps.Keys(set), func(a, b *change.Entry) int { return a.Compare(b.Key) })
}

// writeFolder adds a folder with an INDEX and files; none if it would be empty.
func writeFolder(out map[string][]byte, dir, head string, entries map[*change.Entry]bool) {
	if head == "" && len(entries) == 0 {
		return
	}
	index := bytes.NewBufferString(head)
	for _, e := range sorted(entries) {
		index.WriteString(indexLines(e))
		if e.Kind == "file" && e.Content != nil {
			out[dir+e.ID] = e.Content
		}
	}
	out[path.Join(dir, IndexFile)] = index.Bytes()
}

// index returns the twin's own INDEX: the cluster and its facts, the operator's kubeconfig, and a line
// for each machine.
func index(c *change.Cluster) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, firstLine, c.Name, c.UUID, c.Version)
	for _, f := range c.Facts {
		fmt.Fprintf(&b, "cluster %s: %s\n", f.Name, f.Value)
	}
	for _, e := range c.Entries {
		b.WriteString(indexLines(e))
	}
	for _, m := range c.Machines {
		kind := "node"
		if m.Pool {
			kind = "pool"
		}
		fmt.Fprintf(&b, "%s %s %s %s %s %s", kind, m.Name, m.Role, m.OS, m.Platform, m.Format)
		for _, f := range m.Facts {
			fmt.Fprintf(&b, " %s %s", f.Name, f.Value)
		}
		b.WriteString("\n")
	}
	return b.Bytes()
}

// indexLines returns the lines of an entry in an INDEX: one for the entry, and below it, indented, what is
// shown of it.
func indexLines(e *change.Entry) string {
	t := e.Traits
	line := fmt.Sprintf("%-4s ", e.Kind)
	below := e.Shown
	switch e.Kind {
	case "file", "dir":
		if server, ok := t["server"]; ok { // the operator's kubeconfig, which is on no machine
			line += e.ID + " " + server
			break
		}
		line += t["mode"] + " " + t["owner"] + " " + e.ID
		if e.Content != nil {
			below = certificates(e.Content)
		}
	case "user":
		line += e.ID + " " + t["number"] + " " + t["home"]
	case "link":
		line += e.ID + " -> " + t["target"]
	case "unit":
		line += e.ID + " " + t["state"]
	case "key":
		line += e.ID
	default: // settings, as a text
		line = e.Kind
		below = []string{strings.TrimSuffix(string(e.Content), "\n")}
	}
	switch e.Secret {
	case "":
	case secret.Redacted:
		line += " " + secret.Redacted
	default:
		line += " <secret " + e.Secret + ">"
	}
	if len(below) == 0 {
		return line + "\n"
	}
	return line + "\n" + indented(strings.Join(below, "\n")) + "\n"
}

// indent stands before the lines below an entry's line.
const indent = "     "

// indented sets lines below the line that they belong to. The last has no end.
func indented(text string) string {
	return indent + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+indent)
}

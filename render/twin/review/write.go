package review

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
)

// IndexFile is the name of the list that the twin and each of its folders have.
const IndexFile = "INDEX"

// sharedFolder holds the entries that several machines have.
const sharedFolder = "shared"

// firstLine is the format of the first line of a twin's INDEX, for writing and reading: the
// cluster's name, its UUID, and the version of Kubernetes.
const firstLine = "kiln review twin of cluster %s %s Kubernetes %s\n"

// Write returns the files of the review twin of a cluster by the paths below its folder. The twin
// is safe for git: it has a name in place of each secret, and a line for each certificate. Each
// machine has a folder with its files as they will lie on it, and an INDEX of everything that it
// has.
//
// Machines have most entries in common. Nobody would read the same entry a thousand times, and one
// change of it would fill every list of changed files. So a shared entry is written once, together
// with its line:
//
//   - shared/all has the entries that every machine of the cluster has;
//   - shared/ROLE-OS has the entries that more than half of the machines of that role and system
//     have, without those of shared/all. At most one entry for a path has such a majority;
//   - the machine's own folder has the rest. An entry there replaces the entry of shared/ROLE-OS
//     with the same path. The machine's INDEX names the entries of shared/ROLE-OS that the machine
//     does not have ("without").
//
// The place of an entry depends on the number of machines that have it, and never on their order:
// one machine more or less moves nothing, unless it decides a majority. A group of one machine
// shares nothing. The twin has no hashes, since a change of a shared entry would then show on every
// machine.
//
// Equal entries must be the same pointer, as in the results of Twin.State and Read.
func Write(c *change.Cluster) map[string][]byte {
	out := map[string][]byte{IndexFile: index(c)}
	var machines []change.Entries
	for _, m := range c.Machines {
		machines = append(machines, m.Entries)
	}
	all := sharedEntries(machines, len(machines))
	writeFolder(out, path.Join(sharedFolder, "all"), "", all)
	groups := map[string][]change.Entries{}
	for _, m := range c.Machines {
		own := slices.DeleteFunc(slices.Clone(m.Entries),
			func(e *change.Entry) bool { return all[e] })
		groups[group(m)] = append(groups[group(m)], own)
	}
	common := map[string]map[*change.Entry]bool{}
	for name, list := range groups {
		common[name] = sharedEntries(list, len(list)/2+1)
		writeFolder(out, path.Join(sharedFolder, name), "", common[name])
	}
	for _, m := range c.Machines {
		writeMachine(out, m, all, common[group(m)])
	}
	return out
}

// group returns the name of the group in which a machine shares entries: its role and system.
func group(m *change.Machine) string { return m.Role + "-" + m.OS }

// writeMachine adds the folder of a machine, which has the entries that are not shared. The INDEX
// begins with the shared folders that belong to the machine.
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
	for _, e := range slices.SortedFunc(maps.Keys(common), compareEntries) {
		if !keys[e.Key] {
			fmt.Fprintf(&head, "without %s %s\n", e.Kind, e.ID)
		}
	}
	writeFolder(out, plan.Folder(m.Name, m.Pool), head.String(), own)
}

// sharedEntries returns the entries that at least as many machines have as enough says. It returns
// none if there is only one machine.
func sharedEntries(machines []change.Entries, enough int) map[*change.Entry]bool {
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

// writeFolder adds a folder with its INDEX and its files. It adds nothing if the INDEX would be
// empty.
func writeFolder(out map[string][]byte, dir, head string, entries map[*change.Entry]bool) {
	if head == "" && len(entries) == 0 {
		return
	}
	index := bytes.NewBufferString(head)
	for _, e := range slices.SortedFunc(maps.Keys(entries), compareEntries) {
		index.WriteString(entryLines(e))
		if e.Kind == "file" && e.Content != nil {
			out[dir+e.ID] = e.Content
		}
	}
	out[path.Join(dir, IndexFile)] = index.Bytes()
}

// index returns the INDEX of the whole twin: the cluster and its facts, the operator's kubeconfig,
// and a line for each machine.
func index(c *change.Cluster) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, firstLine, c.Name, c.UUID, c.Version)
	for _, f := range c.Properties {
		fmt.Fprintf(&b, "cluster %s: %s\n", f.Name, f.Value)
	}
	for _, e := range c.Entries {
		b.WriteString(entryLines(e))
	}
	for _, m := range c.Machines {
		b.WriteString(MachineLine(m))
	}
	return b.Bytes()
}

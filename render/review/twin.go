package review

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"kiln/render/assembly"
	"kiln/render/change"
	"kiln/render/node"
	"kiln/render/plan"
)

// Names in the review twin.
const (
	IndexFile    = change.Index
	sharedFolder = change.Shared
)

// Twin is the cluster as a reviewer sees it, safe for git. Each machine has a folder with an INDEX of everything that it has and its files as
// they will lie on it; secrets are names there, certificates lines.
//
// Most of a machine is equal on many. Written a thousand times it would be seen by nobody, and a change of it would fill every
// list of changed files. So it is written once, INDEX lines included:
//
//   - shared/all has what every machine of the cluster has;
//   - shared/ROLE-OS has what more than half of the machines of that role and system have, but for the above. There is at most one such
//     thing at a path, so that nothing has to be chosen;
//   - a machine's own folder has the rest. What it has at a path that shared/ROLE-OS has too, it has instead; what it does not have
//     at all, its INDEX names ("without").
//
// Where a thing lies depends on how many have it and never on the order of machines: one more or one less moves nothing, unless it decides
// a majority. A group of one machine shares nothing. Hashes are nowhere, or a change of what is shared would show on every machine.
type Twin struct {
	head     string     // of its INDEX, without the machines' lines
	heads    []twinHead // of the machines
	machines [][]*entry // what each of them has

	mu    sync.Mutex
	known map[entryKey]*entry
}

// entryKey is what makes two things equal.
type entryKey struct {
	kind, id, text string
	content        [sha256.Size]byte
}

// twinHead is what the twin's INDEX says of a machine.
type twinHead struct {
	pool                             bool
	name, role, os, platform, format string
	kubelet, addresses               string
	until                            time.Time
}

// folder is where the machine lies in the output folder and in the twin.
func (h *twinHead) folder() string {
	if h.pool {
		return path.Join("pools", h.name)
	}
	return h.name
}

// group is the name of the machines that share things: those of one role and system.
func (h *twinHead) group() string { return h.role + "-" + h.os }

func emptyTwin(head string, heads []twinHead) *Twin {
	return &Twin{head: head, heads: heads, machines: make([][]*entry, len(heads)), known: map[entryKey]*entry{}}
}

// NewTwin returns the review twin of a cluster, without its machines.
func NewTwin(c *assembly.Cluster) (*Twin, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, change.Mark, c.Plan.Name, c.Public.Cluster, c.Plan.Version)
	b.WriteString(factLines(c.Plan.Overview()))
	admin, err := reviewedAdmin(c)
	if err != nil {
		return nil, err
	}
	b.WriteString(admin)
	heads := make([]twinHead, c.Machines())
	for i := range heads {
		heads[i] = newHead(c, &c.Plan.Machines[i])
	}
	return emptyTwin(b.String(), heads), nil
}

func newHead(c *assembly.Cluster, m *plan.Machine) twinHead {
	return twinHead{
		pool: m.Pool, name: m.Name, role: m.Role, os: m.System.Name, platform: m.Platform.Name, format: string(m.System.Format),
		kubelet: cmp.Or(m.Settings.KubeletVersion, c.Plan.Version), addresses: strings.Join(m.AddressStrings(), ","), until: c.ValidUntil(m),
	}
}

func factLines(facts []plan.Fact) string {
	var b strings.Builder
	for _, f := range facts {
		fmt.Fprintf(&b, "cluster %s: %s\n", f.Name, f.Value)
	}
	return b.String()
}

// Add takes in the i-th machine of the plan. It may be called from several goroutines. Equal things are kept once.
func (t *Twin) Add(i int, n *node.Node) error {
	list := reviewed(n)
	out := make([]*entry, len(list))
	keys := make([]entryKey, len(list))
	for j, e := range list {
		keys[j] = entryKey{kind: e.kind, id: e.id, text: e.text}
		if e.file == nil {
			continue
		}
		if e.id == "/"+IndexFile {
			return fmt.Errorf("file %s: the review twin keeps its list of files under this name; choose another path", e.id)
		}
		keys[j].content = sha256.Sum256(e.file.Content)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for j, e := range list {
		if t.known[keys[j]] == nil {
			if e.file != nil {
				// The machine is forgotten but for this file.
				kept := *e.file
				e.file = &kept
			}
			t.known[keys[j]] = &e
		}
		out[j] = t.known[keys[j]]
	}
	t.machines[i] = out
	return nil
}

// Files returns the twin, by paths below its folder.
func (t *Twin) Files() map[string][]byte {
	out := map[string][]byte{}
	all := shared(t.machines, len(t.machines))
	groups := map[string][][]*entry{}
	for i, list := range t.machines {
		name := t.heads[i].group()
		rest := slices.DeleteFunc(list, func(e *entry) bool { return all[e] })
		t.machines[i] = rest
		groups[name] = append(groups[name], rest)
	}
	put(out, path.Join(sharedFolder, "all"), "", all)
	common := map[string]map[*entry]bool{}
	for name, machines := range groups {
		common[name] = shared(machines, len(machines)/2+1)
		put(out, path.Join(sharedFolder, name), "", common[name])
	}
	for i, list := range t.machines {
		m := &t.heads[i]
		var head strings.Builder
		for _, base := range []struct {
			name    string
			entries map[*entry]bool
		}{{"all", all}, {m.group(), common[m.group()]}} {
			if len(base.entries) > 0 {
				fmt.Fprintf(&head, "with %s/%s\n", sharedFolder, base.name)
			}
		}
		own, has := map[*entry]bool{}, map[[2]string]bool{}
		for _, e := range list {
			has[[2]string{e.kind, e.id}] = true
			if !common[m.group()][e] {
				own[e] = true
			}
		}
		for _, e := range sorted(common[m.group()]) {
			if !has[[2]string{e.kind, e.id}] {
				fmt.Fprintf(&head, "without %s %s\n", e.kind, e.id)
			}
		}
		put(out, m.folder(), head.String(), own)
	}
	out[IndexFile] = t.index()
	return out
}

// Folders returns the folders that are the twin's, below its own.
func (t *Twin) Folders() []string {
	own := []string{sharedFolder}
	for i := range t.heads {
		own = append(own, t.heads[i].folder())
	}
	return own
}

// shared returns what at least so many machines have; nothing if there is only one.
func shared(machines [][]*entry, enough int) map[*entry]bool {
	if len(machines) < 2 {
		return nil
	}
	count := map[*entry]int{}
	for _, list := range machines {
		for _, e := range list {
			count[e]++
		}
	}
	out := map[*entry]bool{}
	for e, n := range count {
		if n >= enough {
			out[e] = true
		}
	}
	return out
}

// put adds a folder with an INDEX and files; none if there is nothing to say.
func put(out map[string][]byte, dir, head string, list map[*entry]bool) {
	if head == "" && len(list) == 0 {
		return
	}
	index := bytes.NewBufferString(head)
	for _, e := range sorted(list) {
		index.WriteString(e.text)
		if e.file != nil {
			out[dir+e.id] = e.file.Content
		}
	}
	out[path.Join(dir, IndexFile)] = index.Bytes()
}

func sorted(list map[*entry]bool) []*entry {
	return slices.SortedFunc(maps.Keys(list), (*entry).compare)
}

// index is the twin's own INDEX: the cluster and what all its machines follow from, the operator's kubeconfig, and a line for each machine.
func (t *Twin) index() []byte {
	b := bytes.NewBufferString(t.head)
	for _, h := range t.heads {
		kind := "node"
		if h.pool {
			kind = "pool"
		}
		fmt.Fprintf(b, "%s %s %s %s %s %s kubelet %s", kind, h.name, h.role, h.os, h.platform, h.format, h.kubelet)
		if h.addresses != "" {
			fmt.Fprintf(b, " addresses %s", h.addresses)
		}
		fmt.Fprintf(b, " until %s\n", h.until.Format(time.RFC3339))
	}
	return b.Bytes()
}

package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/twin/change"
)

// Refusal is a change that would break the running cluster.
type Refusal struct {
	Name    string `json:"name"` // for --force
	Why     string `json:"why"`
	Instead string `json:"instead"`
}

// refusal is a rule that refuses a change.
type refusal struct {
	name string
	// returns an empty string if the change is allowed
	why     func(d *transition, decisions []*decision) string
	instead string
}

// refusalTable holds every rule that refuses a change.
var refusalTable = []refusal{
	{"cluster", otherCluster,
		"compare two states of one cluster; " +
			"a new one takes its machines all at once, with empty disks"},
	{"authority", otherAuthority,
		"rotate the CA (kiln secrets rotate): " +
			"machines with the old and machines with the new one do not trust each other"},
	{"rotation", skippedStage,
		"replace the machines in each stage before the next one: kiln secrets rotate ROOT --back " +
			"goes back by one stage, and an old root comes back with a copy of the bundle " +
			"(docs/rotation.md)"},
	{"service-subnets", property("service subnets",
		"Services keep their addresses, "+
			"and DNS and the API server's own address move away under running pods"),
		"keep the subnets, or make a new cluster"},
	{"pod-subnets", property("pod subnets",
		"running pods keep addresses that the other machines no longer route or masquerade"),
		"keep the subnets; more machines want a smaller nodeMaskSizes from the beginning"},
	{"dns-domain", property("dns domain", "running pods look names up under the old one"),
		"keep the domain"},
	{"pod-network", property("pod network",
		"pods of machines with the old and with the new one do not reach each other"),
		"make a new cluster, or plan an interruption of all pods"},
	{"endpoint", lostEndpoint,
		"add the old endpoint to controlPlane.apiServer.certSANs " +
			"until every worker has the new one"},
	{"vip", lostVIP,
		"first make a name the endpoint, with a plan of its own that keeps the vip; then let the " +
			"name lead to the control planes' own addresses while they are replaced, and plan " +
			"with --force vip"},
	{"version", versionJump,
		"go one minor at a time, because API servers of two minors share the objects in etcd: " +
			"render with the next minor, follow its plan until --nodes has nothing left, and " +
			"then plan from there"},
	{"etcd-version", etcdJump,
		"one minor at a time, and to 3.7 from 3.6.11 or later: set images.etcd to it with the " +
			"version of Kubernetes that runs, follow that plan, and then go on to this one; only " +
			"a snapshot leads back (docs/etcd.md)"},
	{"kubelet-skew", kubeletSkew,
		"replace those workers first, or remove them, in a plan of its own: " +
			"a kubelet is at most three minors older than the new API servers"},
	{"renamed", takenAddress(true),
		"remove the machine first, with a plan of its own, " +
			"then add it by its new name: a Node's name is who it is"},
	{"address", takenAddress(false),
		"first free the address, with a plan of its own: give the machine that has it another " +
			"one, or remove it; of two that swap, one goes to a free address meanwhile"},
	{"role", otherRole,
		"remove the machine first, with a plan of its own, then add it with its new role"},
	{"restore", restores,
		"follow docs/etcd.md: all members get these documents at once, with empty disks, " +
			"and the data that they have is given up"},
	{"quorum", lostQuorum,
		"keep members of etcd while others come: add first, remove in a second plan"},
	{"members-down", membersDown,
		"see that the list has all Nodes; bring one of them back first (its console, sh " +
			"/etc/kiln/boot report); if their disks are lost, restore a snapshot (docs/etcd.md)"},
	{"members-moved", movedMembers,
		"change the address of one member after the other, each with a plan of its own: a new " +
			"member finds the others at the addresses in its document"},
	{"single-member", singleMember,
		"grow to three members first; or accept that the API is away, with " +
			"--force single-member: its steps take a snapshot before, and restore it after"},
}

// Refusals returns the names of all refusals.
func Refusals() []string {
	out := make([]string, len(refusalTable))
	for i, r := range refusalTable {
		out[i] = r.name
	}
	return out
}

func refusals(d *transition, decisions []*decision) (out []Refusal) {
	for _, r := range refusalTable {
		if why := r.why(d, decisions); why != "" {
			out = append(out, Refusal{r.name, why, insteadOf(&r, d)})
			if r.name == "cluster" {
				// Other refusals mean nothing for two clusters.
				break
			}
		}
	}
	return out
}

func otherCluster(d *transition, _ []*decision) string {
	if d.old.UUID == d.new.UUID && d.old.Name == d.new.Name {
		return ""
	}
	return fmt.Sprintf("%s (%s) and %s (%s) are two clusters",
		d.old.Name, d.old.UUID, d.new.Name, d.new.UUID)
}

// property returns a rule against a change of that property of the cluster.
func property(name, why string) func(*transition, []*decision) string {
	return func(d *transition, _ []*decision) string {
		old, new := d.old.Properties.Value(name), d.new.Properties.Value(name)
		if old == new {
			return ""
		}
		return fmt.Sprintf("%s %s → %s: %s", name, old, new, why)
	}
}

// otherAuthority: a CA that is in both states has another key. The rule for rotations has its own
// words for a CA that was rotated.
func otherAuthority(d *transition, decisions []*decision) string {
	for _, f := range decisions {
		for _, c := range f.Changes {
			if file := layout.FileAt(c.Name); file != nil && d.rotates(pki.Root(file.Authority)) {
				continue
			}
			for _, field := range c.Fields {
				if field.Name == "certificate fingerprint" && field.Old != nil && field.New != nil {
					return fmt.Sprintf("%s has another key", c.Name)
				}
			}
		}
	}
	return ""
}

func versionJump(d *transition, _ []*decision) string {
	if why := goesBack(d); why != "" {
		return why
	}
	var skipped []string
	for n := minor(d.old.Version) + 1; n < minor(d.new.Version); n++ {
		skipped = append(skipped, fmt.Sprintf("v1.%d", n))
	}
	if len(skipped) == 0 {
		return ""
	}
	return fmt.Sprintf("Kubernetes %s → %s skips %s", d.old.Version, d.new.Version,
		strings.Join(skipped, ", "))
}

// goesBack says which API servers are of a newer minor than the newer state.
func goesBack(d *transition) string {
	new := minor(d.new.Version)
	if minor(d.old.Version) > new {
		return fmt.Sprintf("Kubernetes %s → %s goes back", d.old.Version, d.new.Version)
	}
	// The document of a machine may be of no state that was named.
	for _, m := range d.old.Machines {
		kubelet := m.Properties.Value("kubelet")
		if m.Role == controlPlane && minor(kubelet) > new {
			return fmt.Sprintf("Kubernetes %s → %s goes back on %s", kubelet, d.new.Version, m.Name)
		}
	}
	return ""
}

// etcdJump: etcd would go back by a minor, or over one, or to 3.7 from a release that may be
// unable to run beside it. "Make sure that all of your 3.6 members are updated to 3.6.11 or later"
// (https://etcd.io/docs/v3.7/upgrades/upgrade_3_7/).
func etcdJump(_ *transition, decisions []*decision) string {
	for _, f := range decisions {
		if f.What() != change.Changed || !f.Old.Member() || !f.New.Member() {
			continue
		}
		old, patch := etcdVersion(f.Old)
		now, _ := etcdVersion(f.New)
		if old > 0 && now > 0 && (now < old || now > old+1 || now == 7 && old == 6 && patch < 11) {
			return fmt.Sprintf("%s has etcd 3.%d.%d, from which no way leads to 3.%d", f.New.Name,
				old, patch, now)
		}
	}
	return ""
}

// kubeletSkew: running kubelets are older than the new API servers allow.
func kubeletSkew(d *transition, _ []*decision) string {
	var names []string
	for _, m := range d.old.Machines {
		if k := minor(m.Properties.Value("kubelet")); m.Role == worker && k >= 0 &&
			minor(d.new.Version)-k > 3 {
			names = append(names, m.Title())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("the kubelets of %s are more than three minors older than %s",
		change.Spans(names),
		d.new.Version)
}

// takenAddress returns a rule: a machine gets an address that another one has until its own turn
// comes. Renamed are a machine that is removed and one that is added.
func takenAddress(renamed bool) func(*transition, []*decision) string {
	return func(_ *transition, decisions []*decision) string {
		owners := map[string]*decision{}
		for _, f := range decisions {
			for _, address := range addresses(f.Old) {
				owners[address] = f
			}
		}
		var taken []string
		for _, f := range decisions {
			for _, address := range addresses(f.New) {
				from := owners[address]
				if from != nil && !slices.Contains(addresses(f.Old), address) &&
					renamed == (from.What() == change.Removed && f.What() == change.Added) {
					taken = append(taken, fmt.Sprintf("%s gets %s while %s has it", f.New.Name,
						address, from.Old.Name))
				}
			}
		}
		return strings.Join(taken, ", ")
	}
}

func addresses(m *change.Machine) []string {
	if m == nil {
		return nil
	}
	return m.Addresses()
}

func otherRole(_ *transition, decisions []*decision) string {
	var names []string
	for _, f := range decisions {
		if f.What() == change.Changed && f.Old.Role != f.New.Role {
			names = append(names, fmt.Sprintf("%s: %s → %s", f.New.Name, f.Old.Role, f.New.Role))
		}
	}
	return strings.Join(names, ", ")
}

// restores: the documents restore etcd from a snapshot.
func restores(d *transition, _ []*decision) string {
	for _, m := range d.new.Machines {
		if t := m.Entries.Find(change.Key{Kind: "file", ID: "/etc/kiln/machine"}); t != nil {
			data, _ := layout.ReadSettings(t.Content)
			for _, s := range data {
				if s.Name == "etcd_snapshot" && s.Value != "" {
					return "the new documents bring etcd back from a snapshot: " +
						"no order keeps what runs"
				}
			}
		}
	}
	return ""
}

// lostQuorum: all members of etcd are removed.
func lostQuorum(d *transition, _ []*decision) string {
	old, new := d.old.Members(), d.new.Members()
	if len(old) == 0 {
		return ""
	}
	for _, m := range old {
		if slices.ContainsFunc(new, func(n *change.Machine) bool { return n.Name == m.Name }) {
			return ""
		}
	}
	return "no member of etcd stays, and its data with it"
}

// membersDown: so many members are down that the others are no majority. The API may still answer:
// a Node that is not Ready has no kubelet, and its member may be there.
func membersDown(d *transition, decisions []*decision) string {
	var down []string
	members, touched := 0, false
	for _, f := range decisions {
		m := f.Machine()
		if (f.again || f.Old != nil) && cmp.Or(f.Old, m).Member() && m.Role == controlPlane {
			members++
			touched = touched || f.again ||
				slices.Contains([]string{Replace, Restart, Remove}, f.verdict)
			if f.down || f.again {
				down = append(down, m.Name)
			}
		}
	}
	if d.seen == nil || !touched || len(down) < 2 || members-len(down) > members/2 {
		return ""
	}
	return fmt.Sprintf("the Nodes of %s are not Ready, or not there: of %d members of etcd, the "+
		"others are no majority", change.Spans(down), members)
}

// movedMembers: several members of etcd get other addresses, so the first that is replaced looks
// for the others where they are not yet.
func movedMembers(_ *transition, decisions []*decision) string {
	var names []string
	for _, f := range decisions {
		if f.What() != change.Changed || !f.Old.Member() || !f.New.Member() {
			continue
		}
		old, new := f.Old.Addresses(), f.New.Addresses()
		if len(old) > 0 && len(new) > 0 && old[0] != new[0] {
			names = append(names, f.New.Name)
		}
	}
	if len(names) < 2 {
		return ""
	}
	return fmt.Sprintf("the members of etcd on %s move to other addresses at once",
		change.Spans(names))
}

// singleMember: the only member of etcd would be replaced, and no other one comes before.
func singleMember(d *transition, decisions []*decision) string {
	if d.mostMembers() != 1 {
		return ""
	}
	for _, f := range decisions {
		if f.verdict == Replace && f.Old.Member() && f.New.Member() {
			return fmt.Sprintf("%s has the only member of etcd, and an empty disk ends its data",
				f.New.Name)
		}
	}
	return ""
}

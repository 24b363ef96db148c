package pki

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kiln.dev/kiln/pki/root"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/text/wording"
)

// etcdGeneration is the name under which Generations counts how often etcd was restored.
const etcdGeneration = "etcd-cluster"

// purposes returns the purposes of derived secrets as Generations spells them: those of the whole
// cluster, and those for which each machine has its own secret.
func purposes() (cluster, machines []string) {
	cluster = ClusterSecrets()
	for i := range table {
		machines = append(machines, table[i].base)
	}
	return cluster, append(machines, poolToken, nodeAnnounce, poolAnnounce)
}

// ClusterSecrets returns the names of the secrets that are derived for the whole cluster.
func ClusterSecrets() []string { return []string{adminName, serveName, etcdGeneration} }

// Older returns what makes p older than another state of the same cluster's public half: the first
// secret, by name, with a lower generation, an earlier renewal, or a rotation that has gone on
// since: each step of it, also the way back, has its time. It is empty if p is not older. Other
// dates do not count: kiln secrets extend also makes them earlier.
func (p *Public) Older(than *Public) string {
	if p.Cluster != than.Cluster {
		return ""
	}
	for _, root := range slices.Sorted(maps.Keys(than.Rotations)) {
		mine, other := p.Rotation(root), than.Rotation(root)
		switch {
		case mine.Generation < other.Generation:
			return fmt.Sprintf("%s is %d here and %d there, and an old root would come back",
				root, mine.Generation, other.Generation)
		case mine.Since.Before(other.Since):
			return fmt.Sprintf("the rotation of %s took its last step there, on %s",
				root, stamp(other.Since))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(than.Generations)) {
		if mine, other := p.Generation(name), than.Generation(name); mine < other {
			return fmt.Sprintf("%s is %d here and %d there, and old keys would come back",
				name, mine, other)
		}
	}
	if p.Renewed.Before(than.Renewed) {
		return "its certificates were renewed later there"
	}
	for _, name := range slices.Sorted(maps.Keys(than.Renewals)) {
		other := than.Renewals[name]
		if p.Renewed.Before(other) && p.Renewals[name].Before(other) {
			return fmt.Sprintf("the certificates of %s were renewed later there", name)
		}
	}
	if other := than.External.Changed; p.External.Changed.Before(other) {
		return fmt.Sprintf("kiln certs add changed its certificates later there, on %s",
			stamp(other))
	}
	return ""
}

// Diverged returns which root has two rotations, one in p and one in other, so that there are two
// new roots with one number: a copy of the bundle was restored, and rotated again. It is empty if
// nothing shows that.
func (p *Public) Diverged(other *Public) string {
	if p.Cluster != other.Cluster {
		return ""
	}
	for _, root := range slices.Sorted(maps.Keys(other.Rotations)) {
		mine, there := p.Rotation(root), other.Rotation(root)
		if mine.Rivals(there) {
			return fmt.Sprintf("%s: a rotation began on %s here and on %s there, "+
				"so that there are two new roots g%d", root, stamp(mine.Begun),
				stamp(there.Begun), mine.Newest())
		}
	}
	return ""
}

// IsDerived reports whether a secret of this name is derived from the leaf seed.
func IsDerived(name string) bool { return generationProblem(name, 1) == "" }

// generationProblem returns what is wrong with an entry of Generations, or "". An entry that
// rotates nothing is a mistake: it would look as if a secret had been rotated.
func generationProblem(name string, generation int) string {
	cluster, machines := purposes()
	purpose, machine, named := name, "", false
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		purpose, machine, named = name[:i], name[i+1:], true
	}
	switch {
	case slices.Contains(Roots(), Root(name)):
		return fmt.Sprintf("is stored in the bundle and not derived, so that a generation changes "+
			"no key; remove the entry, and run: kiln secrets rotate %s", name)
	case named && slices.Contains(cluster, purpose):
		return fmt.Sprintf("there is one for the whole cluster; write %s", purpose)
	case !named && slices.Contains(machines, name):
		return fmt.Sprintf("each machine has its own; write %s/NAME", name)
	case !slices.Contains(cluster, name) && !(named && slices.Contains(machines, purpose)):
		hint := fmt.Sprintf("remove the entry, or write %s, or one of "+
			"these and a machine's name: %s",
			strings.Join(cluster, ", "), strings.Join(machines, "/NAME, ")+"/NAME")
		if near := wording.Nearest(purpose, slices.Concat(cluster, machines)); near != "" {
			if slices.Contains(machines, near) {
				near += "/" + cmp.Or(machine, "NAME")
			}
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return "no derived secret has this name; " + hint
	case named && !config.IsMachineName(machine):
		return fmt.Sprintf("%q is not the name of a machine or pool", machine)
	case generation < 1 || generation > root.MaxGeneration:
		return fmt.Sprintf("generations count from 1 to %d", root.MaxGeneration)
	}
	return ""
}

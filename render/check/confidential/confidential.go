// Package confidential checks that each machine holds exactly the secrets that the table of package
// secret gives it, each in its own file, and that others may not read that file.
package confidential

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"strings"
	"sync"

	"kiln/pki"
	"kiln/render/config"
	"kiln/render/facts/node"
	"kiln/render/plan"
	"kiln/render/secret"
	"kiln/templates"
)

// Checker checks the machines of one cluster. Its methods may be called from several goroutines.
type Checker struct {
	cluster  *secret.Cluster
	bundle   *pki.Bundle // nil if the cluster is rendered without secrets
	searcher *Searcher
	sources  Sources

	// origins caches where in the configuration a file comes from, by path, as messages show it.
	origins sync.Map
}

// Sources returns the places in the configuration that a file of a machine comes from.
type Sources func(m *plan.Machine, f *node.File) []config.Place

// New returns a checker for a cluster. b may be nil; then keys are not checked.
func New(c *secret.Cluster, b *pki.Bundle, sources Sources) *Checker {
	return &Checker{cluster: c, bundle: b, searcher: NewSearcher(c.Plan, b), sources: sources}
}

// Node returns what is wrong with the secrets of a machine.
func (k *Checker) Node(m *plan.Machine, n *node.Node) []error {
	c := &inspection{Checker: k, machine: m, node: n}
	c.checkMarks(secret.Kinds)
	for i := range n.Files {
		f := &n.Files[i]
		forbidden := uint32(0o077)
		if secret.Base(f.Secret) == "file" {
			forbidden = 0o004 // the user may give it to a group
		}
		if f.Secret != "" && f.Mode&forbidden != 0 {
			c.fail("file %s: a secret that others may read (mode %04o)", f.Path, f.Mode)
		}
		c.checkContent(f)
	}
	c.checkSettings()
	c.checkLeafKeys()
	return c.errs
}

// Holds returns the differences between the secrets with which a machine's files are marked and
// those that a table of secrets gives the machine.
func (k *Checker) Holds(kinds []secret.Kind, m *plan.Machine, n *node.Node) []error {
	c := &inspection{Checker: k, machine: m, node: n}
	c.checkMarks(kinds)
	return c.errs
}

// inspection is the check of one machine.
type inspection struct {
	*Checker
	machine *plan.Machine
	node    *node.Node
	errs    []error
}

func (c *inspection) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// checkMarks compares the marks of the machine's files with a table of secrets.
func (c *inspection) checkMarks(kinds []secret.Kind) {
	type holding struct {
		secret.Holding
		user string
	}
	var expected []holding
	missing := map[secret.Holding]int{}
	for i := range kinds {
		for _, h := range kinds[i].Holdings(c.cluster, c.machine) {
			expected = append(expected, holding{h, kinds[i].User})
			missing[h]++
		}
	}
	for _, f := range c.node.Files {
		if f.Secret == "" {
			continue
		}
		atPath := secret.Holding{Mark: f.Secret, Path: f.Path}
		inFolder := secret.Holding{Mark: f.Secret, Path: path.Dir(f.Path) + "/"}
		switch {
		case missing[atPath] > 0:
			missing[atPath]--
		case missing[inFolder] > 0:
			missing[inFolder]--
		default:
			c.fail("file %s: must not hold the secret %s: %s; remove it",
				f.Path, f.Secret, describeHolders(kinds, f.Secret))
		}
	}
	for _, h := range expected {
		if missing[h.Holding] > 0 {
			missing[h.Holding]--
			c.fail("secret %s: missing from %s; it is there for %s", h.Mark, h.Path, h.user)
		}
	}
}

// checkContent checks that a file holds the secret that its mark names, and no other. A file
// without a mark must hold no credential. No file, not even one of the user's, may hold a secret of
// the bundle that its mark does not name.
func (c *inspection) checkContent(f *node.File) {
	base := secret.Base(f.Secret)
	isUsers := base == "file" || base == "object"
	var found *Finding
	if f.Secret == "" || isUsers {
		found = c.searcher.Find(f.Content)
	} else {
		found = c.searcher.FindSecrets(f.Content) // kiln's own secret may be a credential
	}
	keys := (bytes.Count(f.Content, []byte(" PRIVATE KEY-----")) + 1) / 2 // a first and a last line
	switch {
	case found.Bundle != "":
		c.fail("file %s%s: holds %s: whoever has it owns the cluster, and no machine may hold it; "+
			"take it out",
			f.Path, c.origin(f), found.Bundle)
		return
	case f.Secret == "" && found.Credential != "":
		c.fail("file %s%s: holds %s and is not marked as a secret, so that others may read it "+
			"and it would stand in the review twin; %s",
			f.Path, c.origin(f), found.Credential, advice(f))
	case keys > 1 && base != "" && !isUsers:
		c.fail("file %s: holds %d private keys, want the one of %s", f.Path, keys, f.Secret)
	}
	holdsOwn := false
	for _, name := range found.Secrets {
		if base == name || f.Secret == name || f.Secret == c.cluster.Public.Mark(name) {
			holdsOwn = true
			continue
		}
		c.fail("file %s%s: holds the secret %s: %s; remove it",
			f.Path, c.origin(f), name, describeHolders(secret.Kinds, name))
	}
	if !holdsOwn && c.searcher.Knows(base) {
		c.fail("file %s: does not hold the secret %s, with which it is marked", f.Path, f.Secret)
	}
}

// checkSettings checks that the settings that only Ignition or cloud-init can express hold no
// secret. The review twin shows them.
func (c *inspection) checkSettings() {
	for _, setting := range []struct {
		name  string
		value []byte
	}{
		{"butane", c.node.Extra},
		{"cloudConfig", c.node.CloudConfig},
		{"networkConfig", c.node.NetworkConfig},
	} {
		found := c.searcher.Find(setting.value)
		description := cmp.Or(found.Bundle, found.Credential)
		if description == "" && len(found.Secrets) > 0 {
			description = "the secret " + found.Secrets[0]
		}
		if description == "" {
			continue
		}
		configuration := c.cluster.Plan.Config
		place := configuration.Place(c.machine.Settings.Path(setting.name), "", nil)
		c.fail("%s (%s): holds %s, which would stand in the review twin; "+
			"put it into a file that files names with contentFrom and secret: true",
			setting.name, configuration.MessagePlace(place), description)
	}
}

// checkLeafKeys checks that each key that is derived for the machine is the key in its file.
func (c *inspection) checkLeafKeys() {
	b := c.bundle
	if b == nil {
		return
	}
	for _, spec := range b.Specs(c.cluster.Plan, c.machine) {
		f := c.node.File(spec.KeyPath)
		if f != nil && !bytes.Contains(f.Content, b.LeafKey(spec.Name).BarePEM()) {
			c.fail("file %s: does not hold the key %s of this machine", f.Path, spec.Name)
		}
	}
	f := c.node.File(templates.AnnouncePath)
	if f != nil && !bytes.Contains(f.Content, b.AnnounceKey(c.machine)) {
		c.fail("file %s: does not hold the key %s of this machine", f.Path,
			pki.AnnounceName(c.machine))
	}
}

// describeHolders returns, for a message, the machines that may hold a secret and the place where
// it lies there.
func describeHolders(kinds []secret.Kind, mark string) string {
	var holders []string
	for i := range kinds {
		if secret.Base(kinds[i].Name) == secret.Base(mark) {
			holders = append(holders, "it is for "+kinds[i].Place())
		}
	}
	if len(holders) == 0 {
		return "the table of secrets does not have it"
	}
	return strings.Join(holders, ", ")
}

// advice returns what to do about a credential in a file that is not marked as a secret.
func advice(f *node.File) string {
	switch {
	case path.Dir(f.Path)+"/" == plan.ObjectsDir:
		return "give it to the API server in a Secret, or take it out"
	case f.Why == node.FromConfig:
		return "name it in files or scripts with contentFrom and secret: true, or take it out"
	}
	return "take it out of what puts it there, and name a file with secret: true"
}

// origin returns, in brackets, the places in the configuration that a file comes from. It is empty
// if the configuration has no influence on the file.
func (c *inspection) origin(f *node.File) string {
	if known, ok := c.origins.Load(f.Path); ok {
		return known.(string)
	}
	var places []string
	for _, place := range c.sources(c.machine, f) {
		if place.File != "" && (place.By == "" || place.Field != "") {
			places = append(places, c.cluster.Plan.Config.MessagePlace(place).String())
		}
	}
	origin := ""
	if len(places) > 0 {
		origin = " (" + strings.Join(places, ", ") + ")"
	}
	c.origins.Store(f.Path, origin)
	return origin
}

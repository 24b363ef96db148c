package check

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"strings"
	"sync"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/secret"
	"kiln.dev/kiln/templates"
)

// secretsChecker checks that each machine holds exactly its secrets of package secret's table, each
// in a file of its own that others may not read. Several goroutines may use it.
type secretsChecker struct {
	cluster  *secret.Cluster
	bundle   *pki.Bundle // nil if the cluster is rendered without secrets
	searcher *searcher
	sources  Sources

	// origins caches where in the configuration a file comes from, by path, as messages show it.
	origins sync.Map
}

// Sources returns the places in the configuration that a file of a machine comes from.
type Sources func(m *plan.Machine, f *node.File) []config.Place

// newSecretsChecker returns a checker for a cluster. b may be nil; then keys are not checked.
func newSecretsChecker(c *secret.Cluster, b *pki.Bundle, sources Sources) *secretsChecker {
	return &secretsChecker{
		cluster: c, bundle: b, searcher: newSearcher(c.Plan, b), sources: sources,
	}
}

// Node returns what is wrong with the secrets of a machine.
func (k *secretsChecker) Node(m *plan.Machine, n *node.Node) []error {
	c := &secretsInspection{
		secretsChecker: k, machine: m, node: n,
		errs: secret.CompareMarks(secret.Kinds, k.cluster, m, n),
	}
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

type secretsInspection struct {
	*secretsChecker
	machine *plan.Machine
	node    *node.Node
	errs    []error
}

func (c *secretsInspection) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// checkContent checks that a file holds the secret of its mark and no other one of the bundle, and
// without a mark no credential.
func (c *secretsInspection) checkContent(f *node.File) {
	base := secret.Base(f.Secret)
	isUsers := base == "file" || base == "object"
	var found *finding
	if f.Secret == "" || isUsers {
		found = c.searcher.Find(f.Content)
	} else {
		found = c.searcher.search(f.Content, false) // kiln's own secret may be a credential
	}
	switch {
	case found.Bundle != "":
		c.fail("file %s%s: holds %s: whoever has it owns the cluster, and no machine may hold it; "+
			"take it out",
			f.Path, c.origin(f), found.Bundle)
		return
	case f.Secret == "" && found.Credential != "":
		c.fail("file %s%s: holds %s and is not marked as a secret, so that others may read it "+
			"and it would stand in the review twin; %s",
			f.Path, c.origin(f), found.Credential, credentialAdvice(f))
	case base != "" && !isUsers:
		lines := bytes.Count(f.Content, []byte(" PRIVATE KEY-----")) // two of each key
		if keys := (lines + 1) / 2; keys > 1 {
			c.fail("file %s: holds %d private keys, want the one of %s", f.Path, keys, f.Secret)
		}
	}
	holdsOwn := false
	for _, name := range found.Secrets {
		if base == name || f.Secret == name || f.Secret == c.cluster.Public.Mark(name) {
			holdsOwn = true
			continue
		}
		c.fail("file %s%s: holds the secret %s: %s; remove it",
			f.Path, c.origin(f), name, secret.DescribeHolders(secret.Kinds, name))
	}
	if !holdsOwn && c.searcher.names[base] {
		c.fail("file %s: does not hold the secret %s, with which it is marked", f.Path, f.Secret)
	}
}

// checkSettings checks that the settings that only Ignition or cloud-init can express hold no
// secret. The review twin shows them.
func (c *secretsInspection) checkSettings() {
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

func (c *secretsInspection) checkLeafKeys() {
	b := c.bundle
	if b == nil {
		return
	}
	for _, spec := range b.Specs(c.cluster.Plan, c.machine) {
		f := c.node.File(spec.KeyPath)
		if f != nil && !bytes.Contains(f.Content, b.LeafSecret(spec.Name).BarePEM()) {
			c.fail("file %s: does not hold the key %s of this machine", f.Path, spec.Name)
		}
	}
	f := c.node.File(templates.AnnouncePath)
	if f != nil && !bytes.Contains(f.Content, b.AnnounceKey(c.machine)) {
		c.fail("file %s: does not hold the key %s of this machine", f.Path,
			pki.AnnounceName(c.machine))
	}
}

func credentialAdvice(f *node.File) string {
	switch {
	case path.Dir(f.Path)+"/" == plan.ObjectsDir:
		return "give it to the API server in a Secret, or take it out"
	case f.Why == node.FromConfig:
		return "name it in files or scripts with contentFrom and secret: true, or take it out"
	}
	return "take it out of what puts it there, and name a file with secret: true"
}

// origin returns, in brackets, the places in the configuration that a file comes from.
func (c *secretsInspection) origin(f *node.File) string {
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

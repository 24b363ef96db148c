package check

import (
	"bytes"
	"cmp"
	"path"
	"strings"

	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/secret"
)

// checkSecrets: a machine holds the secrets that the table gives it, each in its own file that others may not read, and no other.
func (c *inspection) checkSecrets() {
	c.checkMarks(secret.Kinds)
	for i := range c.node.Files {
		f := &c.node.Files[i]
		others := uint32(0o077)
		if secret.Base(f.Secret) == "file" {
			others = 0o004 // the user may give it to a group
		}
		if f.Secret != "" && f.Mode&others != 0 {
			c.fail("file %s: a secret that others may read (mode %04o)", f.Path, f.Mode)
		}
		c.checkContent(f)
	}
	c.checkSettings()
	c.checkLeafKeys()
}

// checkMarks compares the marks of the machine's files with the table.
func (c *inspection) checkMarks(kinds []secret.Kind) {
	type due struct {
		secret.Holding
		user string
	}
	secrets := &secret.Cluster{
		Plan: c.cluster.Plan, Public: c.cluster.Public, Objects: c.cluster.Objects, Joining: c.cluster.Joining,
	}
	var all []due
	missing := map[secret.Holding]int{}
	for i := range kinds {
		for _, h := range kinds[i].Holdings(secrets, c.machine) {
			all = append(all, due{h, kinds[i].User})
			missing[h]++
		}
	}
	for _, f := range c.node.Files {
		if f.Secret == "" {
			continue
		}
		own := secret.Holding{Mark: f.Secret, Path: f.Path}
		inFolder := secret.Holding{Mark: f.Secret, Path: path.Dir(f.Path) + "/"}
		switch {
		case missing[own] > 0:
			missing[own]--
		case missing[inFolder] > 0:
			missing[inFolder]--
		default:
			c.fail("file %s: must not hold the secret %s: %s; remove it", f.Path, f.Secret, describeHolders(kinds, f.Secret))
		}
	}
	for _, d := range all {
		if missing[d.Holding] > 0 {
			missing[d.Holding]--
			c.fail("secret %s: missing from %s; it is there for %s", d.Mark, d.Path, d.user)
		}
	}
}

// describeHolders says for whom a secret is, and where it lies there.
func describeHolders(kinds []secret.Kind, mark string) string {
	var out []string
	for i := range kinds {
		if secret.Base(kinds[i].Name) == secret.Base(mark) {
			out = append(out, "it is for "+kinds[i].Place())
		}
	}
	if len(out) == 0 {
		return "the table of secrets does not have it"
	}
	return strings.Join(out, ", ")
}

// checkContent: what a file holds is what its mark says. No credential stands in a file that is not
// marked as a secret, and no secret of the bundle in any but its own, be the file one of the
// user's.
func (c *inspection) checkContent(f *node.File) {
	keys := (bytes.Count(f.Content, []byte(" PRIVATE KEY-----")) + 1) / 2 // each has a first and a last line
	own := secret.Base(f.Secret)
	users := own == "file" || own == "object"
	var held *finding
	if f.Secret == "" || users {
		held = c.facts.searcher.examine(f.Content)
	} else {
		held = c.facts.searcher.search(f.Content, false) // kiln's own: it may be a credential
	}
	switch {
	case held.bundle != "":
		c.fail("file %s%s: holds %s: whoever has it owns the cluster, and no machine may; take it out",
			f.Path, c.origin(f), held.bundle)
		return
	case f.Secret == "" && held.credential != "":
		c.fail("file %s%s: holds %s and is not marked as a secret, so that others may read it "+
			"and it would stand in the review twin; %s",
			f.Path, c.origin(f), held.credential, advice(f))
	case keys > 1 && own != "" && !users:
		c.fail("file %s: holds %d private keys, want the one of %s", f.Path, keys, f.Secret)
	}
	found := false
	for _, name := range held.secrets {
		if own == name || f.Secret == c.cluster.Public.Mark(name) {
			found = true
			continue
		}
		c.fail("file %s%s: holds the secret %s: %s; remove it",
			f.Path, c.origin(f), name, describeHolders(secret.Kinds, name))
	}
	if !found && c.facts.searcher.names[own] {
		c.fail("file %s: does not hold the secret %s, with which it is marked", f.Path, f.Secret)
	}
}

// advice says what to do about a credential in a file that is not marked as a secret.
func advice(f *node.File) string {
	switch {
	case path.Dir(f.Path)+"/" == plan.ObjectsDir:
		return "give it to the API server in a Secret, or take it out"
	case f.Why == node.FromConfig:
		return "name it in files or scripts with contentFrom and secret: true, or take it out"
	}
	return "take it out of what puts it there, and name a file with secret: true"
}

// origin returns where in the configuration a file comes from, in brackets; empty if nothing there
// decides it.
func (c *inspection) origin(f *node.File) string {
	text, known := c.facts.origins.Load(f.Path)
	if !known {
		var from []string
		for _, place := range c.cluster.Origin(c.machine, f) {
			if place.File != "" && (place.By == "" || place.Field != "") {
				from = append(from, place.String())
			}
		}
		if text = ""; len(from) > 0 {
			text = " (" + strings.Join(from, ", ") + ")"
		}
		c.facts.origins.Store(f.Path, text)
	}
	return text.(string)
}

// checkSettings: what only Ignition or cloud-init can express is for everybody to see, and holds no
// credential.
func (c *inspection) checkSettings() {
	for _, s := range []struct {
		name string
		text []byte
	}{
		{"butane", c.node.Extra}, {"cloudConfig", c.node.CloudConfig},
		{"networkConfig", c.node.NetworkConfig},
	} {
		held := c.facts.searcher.examine(s.text)
		what := cmp.Or(held.bundle, held.credential)
		if what == "" && len(held.secrets) > 0 {
			what = "the secret " + held.secrets[0]
		}
		if what != "" {
			at := c.cluster.Plan.Config.Place(c.machine.Settings.Path(s.name), "", nil)
			c.fail("%s (%s): holds %s, which would stand in the review twin; "+
				"put it into a file that files names with contentFrom and secret: true", s.name, at, what)
		}
	}
}

// checkLeafKeys: each key that is derived for the machine is the one in its file; the certificates of two control planes say the same.
func (c *inspection) checkLeafKeys() {
	b := c.cluster.Bundle
	if b == nil {
		return
	}
	for _, spec := range b.Specs(c.cluster.Plan, c.machine) {
		if f := c.files[spec.KeyPath]; f != nil && !bytes.Contains(f.Content, b.LeafKey(spec.Name).BarePEM()) {
			c.fail("file %s: does not hold the key %s of this machine", f.Path, spec.Name)
		}
	}
}

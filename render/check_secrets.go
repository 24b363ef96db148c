package render

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"iter"
	"path"
	"strings"

	"kiln/render/node"
)

// secrets: a machine holds the secrets that the table gives it, each in its own file that others may not read, and no other.
func (c *checker) secrets() {
	c.holds(SecretKinds)
	for i := range c.node.Files {
		f := &c.node.Files[i]
		others := uint32(0o077)
		if base(f.Secret) == "file" {
			others = 0o004 // the user may give it to a group
		}
		if f.Secret != "" && f.Mode&others != 0 {
			c.fail("file %s: a secret that others may read (mode %04o)", f.Path, f.Mode)
		}
		c.confined(f)
	}
}

// holds compares the marks of the machine's files with the table.
func (c *checker) holds(kinds []SecretKind) {
	type due struct {
		holding
		user string
	}
	var all []due
	missing := map[holding]int{}
	for i := range kinds {
		for _, h := range kinds[i].on(c.cluster, c.machine) {
			all = append(all, due{h, kinds[i].User})
			missing[h]++
		}
	}
	for _, f := range c.node.Files {
		if f.Secret == "" {
			continue
		}
		own, inFolder := holding{f.Secret, f.Path}, holding{f.Secret, path.Dir(f.Path) + "/"}
		switch {
		case missing[own] > 0:
			missing[own]--
		case missing[inFolder] > 0:
			missing[inFolder]--
		default:
			c.fail("file %s: must not hold the secret %s: %s; remove it", f.Path, f.Secret, places(kinds, f.Secret))
		}
	}
	for _, d := range all {
		if missing[d.holding] > 0 {
			missing[d.holding]--
			c.fail("secret %s: missing from %s; it is there for %s", d.mark, d.path, d.user)
		}
	}
}

// places says for whom a secret is, and where it lies there.
func places(kinds []SecretKind, mark string) string {
	var out []string
	for i := range kinds {
		if base(kinds[i].Name) == base(mark) {
			out = append(out, "it is for "+kinds[i].place())
		}
	}
	if len(out) == 0 {
		return "the table of secrets does not have it"
	}
	return strings.Join(out, ", ")
}

// confined: what a file holds is what its mark says. No private key, token or key of the bundle stands in a file that is not marked as such, be
// it one of the user's.
func (c *checker) confined(f *node.File) {
	isKey := bytes.Contains(f.Content, []byte(" PRIVATE KEY-----"))
	if f.Secret == "" && isKey {
		c.fail("file %s: holds a private key and is not marked as a secret", f.Path)
	}
	for _, s := range c.facts.bundled {
		if (isKey || !s.isKey) && base(f.Secret) != s.name && bytes.Contains(f.Content, s.text) {
			c.fail("file %s: holds the secret %s: %s; remove it", f.Path, s.name, places(SecretKinds, s.name))
		}
	}
	if len(c.facts.tokenOf) == 0 || base(f.Secret) == "token" {
		return
	}
	for run := range runs(f.Content, tokenSecretLen) {
		if name, known := c.facts.tokenOf[string(run)]; known {
			c.fail("file %s: holds the secret token/%s: %s; remove it", f.Path, name, places(SecretKinds, "token"))
		}
	}
}

// bundled is a secret of the bundle as it would stand in a file.
type bundled struct {
	name  string
	text  []byte
	isKey bool // in PEM form
}

// readSecrets takes the secrets of the bundle that Check looks for in files.
func (f *facts) readSecrets() {
	b := f.cluster.Bundle
	if b == nil {
		return
	}
	for _, k := range []struct {
		name string
		pem  []byte
	}{{"ca", b.CAKey.PEM()}, {"etcd-ca", b.EtcdCAKey.PEM()}, {"front-proxy-ca", b.FrontProxyCAKey.PEM()}, {"service-account", b.ServiceAccountKey.PEM()}} {
		// Its first bytes are in no public form of the key, and stand in one line however the text is indented.
		block, _ := pem.Decode(k.pem)
		f.bundled = append(f.bundled, bundled{k.name, []byte(base64.StdEncoding.EncodeToString(block.Bytes[:36])), true})
	}
	for _, s := range []struct {
		name   string
		secret []byte
	}{{"encryption", b.EncryptionKey}, {"leaf-seed", b.LeafSeed}} {
		f.bundled = append(f.bundled, bundled{s.name, []byte(base64.StdEncoding.EncodeToString(s.secret)), false})
	}
	f.tokenOf = map[string]string{}
	for i := range f.cluster.Plan.Machines {
		if m := &f.cluster.Plan.Machines[i]; m.Token {
			f.tokenOf[b.Token(m.Name).Secret] = m.Name
		}
	}
}

// tokenSecretLen is how long the secret half of a bootstrap token is.
const tokenSecretLen = 16

// runs returns every run of exactly n letters in lower case and digits.
func runs(text []byte, n int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		begin := 0
		for i := 0; i <= len(text); i++ {
			if i < len(text) && (text[i] >= 'a' && text[i] <= 'z' || text[i] >= '0' && text[i] <= '9') {
				continue
			}
			if i-begin == n && !yield(text[begin:i]) {
				return
			}
			begin = i + 1
		}
	}
}

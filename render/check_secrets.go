package render

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"iter"
	"path"
	"strings"

	"kiln/pki"
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
	c.derived()
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
	keys := (bytes.Count(f.Content, []byte(" PRIVATE KEY-----")) + 1) / 2 // each has a first and a last line
	switch own := base(f.Secret); {
	case keys > 0 && f.Secret == "":
		c.fail("file %s: holds a private key and is not marked as a secret", f.Path)
	case keys > 1 && own != "file" && own != "object":
		c.fail("file %s: holds %d private keys, want the one of %s", f.Path, keys, f.Secret)
	}
	for _, s := range c.facts.bundled {
		own := base(f.Secret) == s.name
		if !own && s.isKey && keys == 0 {
			continue
		}
		switch has := bytes.Contains(f.Content, s.text); {
		case own && !has:
			c.fail("file %s: does not hold the secret %s, with which it is marked", f.Path, f.Secret)
		case has && !own:
			c.fail("file %s: holds the secret %s: %s; remove it", f.Path, s.name, places(SecretKinds, s.name))
		}
	}
	c.tokens(f)
}

// tokens: a file holds the bootstrap token with which it is marked, and no other.
func (c *checker) tokens(f *node.File) {
	if len(c.facts.tokenOf) == 0 {
		return
	}
	found := base(f.Secret) != "token"
	for run := range runs(f.Content, tokenSecretLen) {
		name, known := c.facts.tokenOf[string(run)]
		switch {
		case !known:
		case f.Secret == c.cluster.generation(name):
			found = true
		default:
			c.fail("file %s: holds the secret %s: %s; remove it", f.Path, name, places(SecretKinds, "token"))
		}
	}
	if !found {
		c.fail("file %s: does not hold the secret %s, with which it is marked", f.Path, f.Secret)
	}
}

// derived: each key that is derived for the machine is the one in its file; the certificates of two control planes say the same.
func (c *checker) derived() {
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
	}{{"ca", b.CAKey.BarePEM()}, {"etcd-ca", b.EtcdCAKey.BarePEM()}, {"front-proxy-ca", b.FrontProxyCAKey.BarePEM()}, {"service-account", b.ServiceAccountKey.BarePEM()}} {
		// Its first bytes are in no public form of the key, and stand in one line however the text is indented. Those before the fourth tell how long
		// the rest is, in which an ECDSA key may have its public half or not.
		block, _ := pem.Decode(k.pem)
		f.bundled = append(f.bundled, bundled{k.name, []byte(base64.StdEncoding.EncodeToString(block.Bytes[3:36])), true})
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
			f.tokenOf[token(b, m).Secret] = pki.TokenName(m)
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

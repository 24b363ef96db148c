package render_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/pki/root"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/plan"
)

// window is the number of bytes in a row that are a leak if a secret has them too.
const window = 12

// secrets are byte strings that nobody may see, by name.
type secrets map[string][]byte

func (s secrets) pem(name string, text []byte) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		s[name+" "+block.Type] = block.Bytes
	}
}

// secretsOf returns every secret of a golden case, and everything that is computed from one: leaf
// certificates with their serial numbers, the service accounts' public key, the hashes of secret
// files.
func secretsOf(t testing.TB, name string) secrets {
	t.Helper()
	r := load(t, name)
	s := secretsIn(t, r.Bundle, r.Plan)
	for i, n := range nodes(t, name) {
		m := &r.Plan.Machines[i]
		for _, f := range n.Files {
			if f.Secret != "" {
				sum := sha256.Sum256(f.Content)
				s["sum of "+m.Name+f.Path] = sum[:]
				// The list of files has too little of the sum to be found by it alone.
				s["listed sum of "+m.Name+f.Path] = fmt.Appendf(nil, "%x %04o", sum[:4], f.Mode)
			}
			if strings.HasPrefix(f.Secret, "file ") ||
				strings.HasPrefix(f.Secret, "registry-client ") ||
				f.Secret == "external-etcd-client" {
				s[f.Secret] = f.Content
				s.pem(f.Secret, f.Content)
			}
			if f.Secret == "registry-logins" {
				var answer struct {
					Auth map[string]struct{ Password string }
				}
				require.NoError(t, json.Unmarshal(f.Content, &answer))
				for host, login := range answer.Auth {
					s[f.Secret+" "+host] = []byte(login.Password)
				}
			}
			if strings.HasPrefix(f.Secret, "object ") {
				var o struct {
					StringData map[string]string `json:"stringData"`
				}
				require.NoError(t, yaml.Unmarshal(f.Content, &o))
				for key, value := range o.StringData {
					s[f.Secret+" "+key] = []byte(value)
				}
			}
		}
	}
	return s
}

// secretsIn returns what a bundle holds, and every certificate that it issues for the machines of a
// plan.
func secretsIn(t testing.TB, b *pki.Bundle, p *plan.Plan) secrets {
	t.Helper()
	s := secrets{}
	s["leaf seed"], s["encryption key"] = b.LeafSeed, b.EncryptionKey
	s.pem("ca", b.CAKey.PEM())
	s.pem("etcd-ca", b.EtcdCAKey.PEM())
	s.pem("front-proxy-ca", b.FrontProxyCAKey.PEM())
	s.pem("service-account",
		slices.Concat(b.ServiceAccountKey.PEM(), b.ServiceAccountKey.PublicPEM()))
	specs := []pki.Spec{b.AdminSpec(p)}
	for i := range p.Machines {
		m := &p.Machines[i]
		specs = append(specs, b.Specs(p, m)...)
		if m.Pool {
			s["token "+m.Name] = []byte(b.PoolToken(m.Name).Secret)
		}
	}
	for _, spec := range specs {
		cert, err := b.Issue(spec)
		require.NoError(t, err)
		s.pem(spec.Name, cert.BothPEM())
		s[spec.Name+" CERTIFICATE"] = ownOf(t, s[spec.Name+" CERTIFICATE"])
	}
	return s
}

// ownOf returns what a certificate has and no other one: its serial number, its key, and its
// signature without the lengths in front. The rest is in others of the same CA too, with a random
// byte behind it now and then.
func ownOf(t testing.TB, der []byte) []byte {
	t.Helper()
	c, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	key, signature := c.RawSubjectPublicKeyInfo, c.Signature
	return slices.Concat(c.SerialNumber.Bytes(), key[len(key)-64:], signature[len(signature)-60:])
}

// windows returns every window of every secret, in each encoding, with the name of the secret.
func (s secrets) windows() map[[window]byte]string {
	out := map[[window]byte]string{}
	for name, secret := range s {
		forms := [][]byte{
			secret,
			[]byte(hex.EncodeToString(secret)),
			[]byte(strings.ToUpper(hex.EncodeToString(secret))),
		}
		// A secret within another text begins anywhere in a group of three bytes.
		for shift := range min(3, len(secret)) {
			encodings := []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding}
			for _, encoding := range encodings {
				forms = append(forms, []byte(encoding.EncodeToString(secret[shift:])))
			}
		}
		for _, form := range forms {
			for i := range len(form) - window + 1 {
				out[[window]byte(form[i:])] = name
			}
		}
	}
	return out
}

// leaks returns the windows that a twin has in common with secrets.
func leaks(twin map[string][]byte, forbidden map[[window]byte]string) (found []string) {
	for _, name := range slices.Sorted(maps.Keys(twin)) {
		text := slices.Concat([]byte(name), []byte("\n"), twin[name])
		for i := range len(text) - window + 1 {
			if of, leaked := forbidden[[window]byte(text[i:])]; leaked {
				found = append(found, fmt.Sprintf("%s has a part of %s", name, of))
				break
			}
		}
	}
	return found
}

// forbidden returns the windows that must not be in the twin of a golden case: those of its
// secrets, without two sets. The windows that another bundle has too belong to the format of keys
// and certificates. The windows of certificates that everybody may see are there because leaves
// repeat the identifier of their CA's key, and a key holds its public half.
func forbidden(t testing.TB, name string) map[[window]byte]string {
	t.Helper()
	windows := secretsOf(t, name).windows()
	c, own := inputs(t, name)
	algorithm := private.P256
	if own.CA.Certificate.PublicKeyAlgorithm.String() == "RSA" {
		algorithm = private.RSA2048
	}
	b, err := pki.New(pki.Options{
		Name: own.Name, Now: own.Issued, Algorithm: algorithm,
		CALifetime: time.Duration(c.Spec.Certificates.CALifetime), FormationWindow: time.Hour,
	})
	require.NoError(t, err)
	public := secretsIn(t, b, load(t, name).Plan)
	for _, ca := range []pki.Authority{own.CA, own.EtcdCA, own.FrontProxyCA} {
		public.pem(ca.Certificate.Subject.String(), ca.PEM())
		for _, parent := range ca.Chain {
			public.pem(parent.Subject.String(), root.CertificatePEM(parent))
		}
	}
	if ext := c.Spec.ControlPlane.Etcd.External; ext != nil {
		public.pem("external etcd CA", c.Text(ext.CAFrom))
		public.pem("external etcd", c.Text(ext.CertFrom))
	}
	for _, r := range c.Spec.Machines.Registries {
		if r.CertFrom != "" {
			public.pem("registry "+r.Host, c.Text(r.CertFrom))
		}
	}
	for w := range public.windows() {
		delete(windows, w)
	}
	return windows
}

// TestTwinHoldsNoSecret: no twin of any case has twelve bytes in common with a secret, in any
// encoding.
func TestTwinHoldsNoSecret(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := load(t, name)
			windows := forbidden(t, name)
			require.Greater(t, len(windows), 5000, "windows of secrets")
			twin := sharedTwin(t, name)
			require.Empty(t, leaks(twin, windows))
			for i := range r.Plan.Machines {
				if m := &r.Plan.Machines[i]; m.Pool {
					for path, text := range twin {
						require.NotContains(t, path+string(text), r.Bundle.PoolToken(m.Name).ID,
							"the token of %s", m.Name)
					}
				}
			}
		})
	}
}

// TestTwinLeaksAreFound: the scan finds a file that lost its mark, and a secret that is in a file
// in any encoding.
func TestTwinLeaksAreFound(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pools", "rsa-ca", "extras"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := load(t, name)
			windows := forbidden(t, name)
			require.Empty(t, leaks(sharedTwin(t, name), windows))
			for at, n := range nodes(t, name) {
				for i, f := range n.Files {
					if f.Secret == "" ||
						strings.Contains(f.Path, "/objects/") &&
							!strings.Contains(f.Path, "bootstrap-token") {
						continue // an add-on's Secret is not one of the bundle's
					}
					machines := slices.Clone(nodes(t, name))
					machines[at] = clone(n)
					machines[at].Files[i].Secret, machines[at].Files[i].Shown = "", nil
					twin, err := r.TwinOf(machines)
					require.NoError(t, err)
					for path, text := range sharedTwin(t, name) {
						if bytes.Equal(twin[path], text) {
							delete(twin, path)
						}
					}
					require.NotEmpty(t, leaks(twin, windows),
						"%s%s without its mark", n.Name, f.Path)
				}
			}
			b := r.Bundle
			longer := append([]byte("x"), b.EncryptionKey...)
			body := strings.Split(string(b.ServiceAccountKey.PEM()), "\n")[1]
			for form, text := range map[string]string{
				"half a seed in hex":                hex.EncodeToString(b.LeafSeed[16:]),
				"a key within base64":               base64.StdEncoding.EncodeToString(longer),
				"twelve characters of a key's body": body[30:42],
				"a raw key":                         string(b.EncryptionKey),
				"a leaf's certificate":              string(issued(t, r).CertPEM()),
			} {
				content := map[string][]byte{"x": []byte("before " + text + " after")}
				require.NotEmpty(t, leaks(content, windows), form)
				name := map[string][]byte{"dir/" + text: nil}
				require.NotEmpty(t, leaks(name, windows), form+" in a name")
			}
		})
	}
}

func issued(t testing.TB, r *render.Cluster) *pki.Certificate {
	t.Helper()
	cert, err := r.Bundle.Issue(r.Bundle.Specs(r.Plan, &r.Plan.Machines[0])[0])
	require.NoError(t, err)
	return cert
}

// TestTwinNeedsNoSecret: the stored public half of the bundle gives each case the same twin as the
// whole bundle, without any file that holds a secret.
func TestTwinNeedsNoSecret(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, b := inputs(t, name)
			text, err := b.Public.Marshal()
			require.NoError(t, err)
			public, err := pki.LoadPublic(text)
			require.NoError(t, err)

			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(clusters, name))))
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "bundle")))
			for _, secret := range secretFiles(c) {
				require.NoError(t, os.Remove(filepath.Join(dir, secret)))
			}
			c, err = render.ConfigPublic(&folder.Input{Path: filepath.Join(dir, "cluster.yaml")})
			require.NoError(t, err)
			r, err := render.NewPublic(c, public)
			require.NoError(t, err)
			machines := make([]*node.Node, r.Machines())
			for i := range machines {
				machines[i], err = r.Node(i)
				require.NoError(t, err)
				require.NoError(t, r.Check(&r.Plan.Machines[i], machines[i]))
				for _, f := range machines[i].Files {
					require.NotContains(t, string(f.Content), "PRIVATE KEY", f.Path)
				}
			}
			twin, err := r.TwinOf(machines)
			require.NoError(t, err)
			require.Equal(t, sharedTwin(t, name), twin)
			_, err = r.Write(filepath.Join(dir, "nodes"), render.Options{})
			require.ErrorContains(t, err, "only the review twin")
		})
	}
}

// secretFiles returns the files beside a case's configuration that hold secrets.
func secretFiles(c *config.Cluster) (out []string) {
	if ext := c.Spec.ControlPlane.Etcd.External; ext != nil {
		out = append(out, ext.KeyFrom)
	}
	machines := []config.Machine{
		c.Spec.Machines, c.Spec.ControlPlane.Machines, c.Spec.Workers.Machines,
	}
	for _, n := range c.Spec.Nodes {
		machines = append(machines, n.Machine)
	}
	for _, m := range machines {
		for _, f := range m.Files {
			if f.Secret {
				out = append(out, f.ContentFrom)
			}
		}
		for _, r := range m.Registries {
			for _, name := range []string{r.KeyFrom, r.PasswordFrom} {
				if name != "" {
					out = append(out, name)
				}
			}
		}
		for _, s := range slices.Concat(m.PreBoot, m.PostBoot) {
			if s.Secret {
				out = append(out, s.ContentFrom)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

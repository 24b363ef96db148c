package foreign_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/vault/foreign"
	"kiln.dev/kiln/pki"
)

var now = time.Date(2027, 6, 1, 12, 0, 0, 0, time.UTC)

// ca is a CA of a test.
type ca struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func (c ca) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.cert.Raw})
}

func (c ca) keyPEM(t testing.TB) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// newCA makes a CA like kubeadm's, signed by parent or by itself. change may spoil it.
func newCA(
	t testing.TB, name string, key crypto.Signer, parent *ca, change func(*x509.Certificate),
) ca {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if change != nil {
		change(template)
	}
	if parent == nil {
		parent = &ca{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.cert, key.Public(), parent.key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return ca{cert, key}
}

func p256(t testing.TB) crypto.Signer { return curve(t, elliptic.P256()) }

func curve(t testing.TB, c elliptic.Curve) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(c, rand.Reader)
	require.NoError(t, err)
	return key
}

func rsaKey(t testing.TB, bits int) crypto.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	require.NoError(t, err)
	return key
}

// publicPEM returns a public key as in sa.pub.
func publicPEM(t testing.TB, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// files are those of a cluster of kubeadm's, by their names.
type files map[string][]byte

// whole returns the files of a whole cluster, with RSA as kubeadm makes it.
func whole(t testing.TB) files {
	t.Helper()
	f := files{}
	for _, name := range []string{"ca", "etcd/ca", "front-proxy-ca"} {
		f.set(t, name, newCA(t, name, rsaKey(t, 2048), nil, nil))
	}
	account := rsaKey(t, 2048)
	f["sa.key"], f["sa.pub"] = ca{key: account}.keyPEM(t), publicPEM(t, account)
	return f
}

func (f files) set(t testing.TB, name string, c ca) {
	t.Helper()
	f[name+".crt"], f[name+".key"] = c.pem(), c.keyPEM(t)
}

func (f files) read() (pki.Given, error) {
	file := func(name string) foreign.GivenFile {
		if f[name] == nil {
			return foreign.GivenFile{}
		}
		return foreign.GivenFile{Path: name, Data: f[name]}
	}
	return foreign.Read(foreign.Files{
		Certificates: map[pki.Signer]foreign.GivenFile{pki.CA: file("ca.crt"),
			pki.EtcdCA: file("etcd/ca.crt"), pki.FrontProxyCA: file("front-proxy-ca.crt")},
		Keys: map[pki.Signer]foreign.GivenFile{pki.CA: file("ca.key"),
			pki.EtcdCA: file("etcd/ca.key"), pki.FrontProxyCA: file("front-proxy-ca.key")},
		ServiceAccountKey: file("sa.key"), ServiceAccountPublic: file("sa.pub"),
		Encryption: file("enc.yaml"),
	}, foreign.Times{Now: now, Leaves: now.AddDate(1, 0, 0)})
}

// TestRead: whole files are taken, whatever form their keys have.
func TestRead(t *testing.T) {
	t.Parallel()
	f := whole(t)
	old := rsaKey(t, 2048)
	f["sa.pub"] = append(publicPEM(t, old), f["sa.pub"]...)
	root := newCA(t, "root", curve(t, elliptic.P384()), nil, nil)
	middle := newCA(t, "middle", p256(t), &root, nil)
	f.set(t, "ca", newCA(t, "company", p256(t), &middle, nil))
	f["ca.crt"] = bytes.Join([][]byte{f["ca.crt"], middle.pem(), root.pem()}, nil)
	sec1, err := x509.MarshalECPrivateKey(p256(t).(*ecdsa.PrivateKey))
	require.NoError(t, err)
	f["enc.yaml"] = encryption("[secrets]", "- aescbc: {keys: [{name: key1, secret: "+secret+"}]}",
		"- identity: {}")
	got, err := f.read()
	require.NoError(t, err)
	require.Len(t, got.Authorities, 3)
	chain := got.Authorities[pki.CA].Chain
	require.Len(t, chain, 1, "the root is left out")
	require.Equal(t, "middle", chain[0].Subject.CommonName)
	require.Empty(t, got.Authorities[pki.EtcdCA].Chain)
	require.Equal(t, publicPEM(t, old), got.Imported.Accepted)
	require.Equal(t, "aescbc key1", got.Imported.Provider+" "+got.Imported.Name)
	require.Len(t, got.EncryptionKey, 32)

	// The key of a CA may be elsewhere.
	external := files{"ca.crt": f["ca.crt"], "sa.key": f["sa.key"]}
	got, err = external.read()
	require.NoError(t, err)
	require.True(t, got.Authorities[pki.CA].Key.IsZero())
	require.Equal(t, "company", got.Authorities[pki.CA].Certificate.Subject.CommonName)
	require.Len(t, got.Authorities[pki.CA].Chain, 1)
	external["front-proxy-ca.crt"] = external["ca.crt"]
	_, err = external.read()
	require.ErrorContains(t, err, "front-proxy-ca.crt: the same key as ca.crt; ")

	// openssl ecparam -genkey writes the curve before the key.
	f["sa.pub"] = nil
	oid, err := asn1.Marshal(asn1.ObjectIdentifier{1, 2, 840, 10045, 3, 1, 7})
	require.NoError(t, err)
	f["sa.key"] = append(pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: oid}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1})...)
	got, err = f.read()
	require.NoError(t, err)
	require.NotNil(t, got.ServiceAccountKey)
}

var secret = base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))

// encryption returns an EncryptionConfiguration.
func encryption(resources string, providers ...string) []byte {
	return []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n" +
		"resources:\n- resources: " + resources + "\n  providers:\n  " +
		strings.Join(providers, "\n  ") + "\n")
}

// TestRefusals: each row spoils one thing, and all of what it says is expected.
func TestRefusals(t *testing.T) {
	t.Parallel()
	base := whole(t)
	other := newCA(t, "other", p256(t), nil, nil)
	own := func(change func(*x509.Certificate)) func(files) {
		return func(f files) { f.set(t, "ca", newCA(t, "own", p256(t), nil, change)) }
	}
	keyed := func(key crypto.Signer) func(files) {
		return func(f files) { f.set(t, "ca", newCA(t, "own", key, nil, nil)) }
	}
	ed := func() crypto.Signer {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		require.NoError(t, err)
		return key
	}
	const want = "; want ECDSA P-256 or P-384, or RSA with 2048 bits or more"
	for name, row := range map[string]struct {
		spoil func(f files)
		want  []string
	}{
		"key of another CA": {func(f files) { f["ca.key"] = other.keyPEM(t) },
			[]string{"ca.key: this is not the key of the CA in ca.crt; name the two files of " +
				"one CA"}},
		"key encrypted, PKCS #8": {func(f files) {
			f["ca.key"] = []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAAA\n" +
				"-----END ENCRYPTED PRIVATE KEY-----\n")
		}, []string{"ca.key: the key is encrypted with a passphrase; give it without, through a " +
			"pipe if you like: <(openssl pkey -in ca.key)"}},
		"key encrypted, traditional": {func(f files) {
			f["ca.key"] = []byte("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n" +
				"DEK-Info: AES-256-CBC,00\n\nMAAA\n-----END RSA PRIVATE KEY-----\n")
		}, []string{"ca.key: the key is encrypted with a passphrase; give it without, through a " +
			"pipe if you like: <(openssl pkey -in ca.key)"}},
		"two keys": {func(f files) { f["ca.key"] = append(f["ca.key"], other.keyPEM(t)...) },
			[]string{"ca.key: several PEM blocks: PRIVATE KEY and PRIVATE KEY; " +
				"want the one private key"}},
		"a certificate for a key": {func(f files) { f["ca.key"] = f["ca.crt"] },
			[]string{"ca.key: a certificate; want the private key that belongs to it"}},
		"a public key for a key": {func(f files) { f["sa.key"] = f["sa.pub"] },
			[]string{"sa.key: a public key; want the private key"}},
		"no key": {func(f files) { f["ca.key"] = []byte("\n") },
			[]string{"ca.key: no PEM block; want a private key in PEM"}},
		"a key in the certificate": {func(f files) {
			f["ca.crt"] = append(f["ca.crt"], f["ca.key"]...)
		}, []string{"ca.crt: a PEM block PRIVATE KEY; want certificates alone: the key goes into " +
			"a file of its own"}},
		"one key for etcd and tokens": {func(f files) {
			f["sa.key"], f["sa.pub"] = f["etcd/ca.key"], nil
		}, []string{"sa.key: the same key as etcd/ca.key; what the one signs, the other one " +
			"would " +
			"have signed too: each needs a key of its own"}},
		"DER": {func(f files) { f["ca.crt"] = other.cert.Raw },
			[]string{"ca.crt: no whole PEM block CERTIFICATE; want the certificate of a CA in " +
				"PEM"}},
		"certificate cut off": {func(f files) { f["ca.crt"] = f["ca.crt"][:len(f["ca.crt"])/2] },
			[]string{"ca.crt: no whole PEM block CERTIFICATE; want the certificate of a CA in " +
				"PEM"}},
		"not X.509": {func(f files) {
			f["ca.crt"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1}})
		}, []string{"ca.crt: certificate 1 cannot be read; want X.509 in PEM"}},
		"two CAs": {func(f files) { f["ca.crt"] = append(f["ca.crt"], other.pem()...) },
			[]string{`ca.crt: several CAs: CA "other" did not sign CA "ca"; want one CA and, ` +
				`behind ` +
				"it, those that signed it, in their order. Of a CA that is being replaced, " +
				"import " +
				"the one that signs, when the other one is trusted no longer"}},
		"not a CA": {own(func(c *x509.Certificate) { c.IsCA = false }),
			[]string{`ca.crt: CA "own" is not a CA (basicConstraints); want the certificate ` +
				`of a CA`}},
		"may not sign": {own(func(c *x509.Certificate) {
			c.KeyUsage = x509.KeyUsageDigitalSignature
		}), []string{`ca.crt: CA "own" may not sign certificates (keyUsage); ` +
			"want a CA with keyCertSign"}},
		"servers alone": {own(func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}), []string{`ca.crt: CA "own" may not sign for servers and for clients ` +
			`(extendedKeyUsage); ` +
			"want a CA without that limit"}},
		"ended": {own(func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Minute) }),
			[]string{`ca.crt: CA "own" ended on 2027-06-01; replace it where the cluster runs, ` +
				"and import the new one"}},
		"not yet valid": {own(func(c *x509.Certificate) { c.NotBefore = now.Add(time.Hour) }),
			[]string{`ca.crt: CA "own" is not valid before 2027-06-01T13:00:00Z; ` +
				"look at this computer's clock, or wait"}},
		"ends before its leaves": {own(func(c *x509.Certificate) {
			c.NotAfter = now.AddDate(0, 6, 0)
		}), []string{`ca.crt: CA "own" ends on 2027-12-01, before the certificates of machines ` +
			"(2028-06-01); shorten certificates.lifetime, or bring a CA that lives longer"}},
		"a root that ends early": {func(f files) {
			root := newCA(t, "root", p256(t), nil,
				func(c *x509.Certificate) { c.NotAfter = now.AddDate(0, 6, 0) })
			f.set(t, "ca", newCA(t, "own", p256(t), &root, nil))
			f["ca.crt"] = append(f["ca.crt"], root.pem()...)
		}, []string{`ca.crt: CA "root", number 2 in the file, ends on 2027-12-01, before the ` +
			"certificates of machines (2028-06-01); shorten certificates.lifetime, or bring a CA " +
			"that lives longer"}},
		"path length": {func(f files) {
			root := newCA(t, "root", p256(t), nil,
				func(c *x509.Certificate) { c.MaxPathLenZero = true })
			f.set(t, "ca", newCA(t, "own", p256(t), &root, nil))
			f["ca.crt"] = append(f["ca.crt"], root.pem()...)
		}, []string{`ca.crt: CA "root", number 2 in the file, allows a path length of 0, and ` +
			`1 CAs ` +
			"stand below it; want a root that allows them"}},
		"P-224": {keyed(curve(t, elliptic.P224())), []string{
			`ca.crt: the key of CA "own" is ECDSA P-224` + want,
			"ca.key: key: only the curves P-256 and P-384 are supported" + want}},
		"P-521": {keyed(curve(t, elliptic.P521())), []string{
			`ca.crt: the key of CA "own" is ECDSA P-521` + want,
			"ca.key: key: only the curves P-256 and P-384 are supported" + want}},
		"Ed25519": {keyed(ed()), []string{
			`ca.crt: the key of CA "own" is neither RSA nor ECDSA` + want,
			"ca.key: key: only ECDSA and RSA keys are supported" + want}},
		"RSA with 1024 bits": {func(f files) { f["ca.crt"] = []byte(weakCA) },
			[]string{`ca.crt: the key of CA "weak" is weak: RSA with 1024 ` +
				`bits` + want, "ca.key: this is not the key of the CA in ca.crt; name the two " +
				"files of one CA"}},
		"RSA with a huge modulus": {func(f files) {
			signer := newCA(t, "huge", rsaKey(t, 2048), nil, nil)
			f.set(t, "ca", newCA(t, "own", p256(t), &signer, nil))
			n := new(big.Int).Lsh(big.NewInt(1), 400_000) // a check of its signature takes minutes
			der, err := x509.CreateCertificate(rand.Reader, signer.cert, signer.cert,
				&rsa.PublicKey{N: n.Add(n, big.NewInt(1)), E: 65537}, signer.key)
			require.NoError(t, err)
			f["ca.crt"] = append(f["ca.crt"],
				pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
		}, []string{`ca.crt: the key of CA "huge", number 2 in the file, is too large: RSA with ` +
			"400001 bits, want 16384 at most" + want}},
		"SHA-1": {func(f files) { f["ca.crt"] = []byte(sha1CA) },
			[]string{`ca.crt: CA "sha1" is signed with ECDSA-SHA1, which no client accepts; ` +
				"want SHA-256 or better", "ca.key: this is not the key of the CA in ca.crt; " +
				"name the two files of one CA"}},
		"critical extension": {own(func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{
				{Id: []int{1, 2, 3, 4}, Critical: true, Value: []byte{5, 0}}}
		}), []string{`ca.crt: CA "own" has the critical extension 1.2.3.4, which Go does not ` +
			`know, ` +
			"so that Kubernetes refuses all that it signs; want a CA without it"}},
		"one key for two CAs": {func(f files) {
			f["etcd/ca.crt"], f["etcd/ca.key"] = f["ca.crt"], f["ca.key"]
		}, []string{"etcd/ca.key: the same key as ca.key; what the one signs, the other one " +
			"would " +
			"have signed too: each needs a key of its own"}},
		"sa.pub of another cluster": {func(f files) { f["sa.pub"] = publicPEM(t, other.key) },
			[]string{"sa.pub: does not have the public key of the service account key, so " +
				"that API " +
				"servers would refuse its tokens; want the two files of one cluster"}},
		"several at once": {func(f files) {
			f["ca.key"], f["etcd/ca.crt"] = other.keyPEM(t), []byte("x")
		}, []string{"ca.key: this is not the key of the CA in ca.crt; name the two files of one CA",
			"etcd/ca.crt: no whole PEM block CERTIFICATE; want the certificate of a CA in PEM"}},
		"other resources": {func(f files) {
			f["enc.yaml"] = encryption("[secrets, configmaps]", "- identity: {}")
		}, []string{"enc.yaml: it encrypts other resources than secrets, which kiln's API " +
			"servers do " +
			"not; store those in the clear first (identity before the key, and write them all " +
			"again)"}},
		"a KMS": {func(f files) { f["enc.yaml"] = encryption("[secrets]", "- kms: {name: a}") },
			[]string{"enc.yaml: not an EncryptionConfiguration of apiserver.config.k8s.io/v1 " +
				"with the " +
				"providers identity, secretbox, aescbc, aesgcm; a key of a KMS stays with it, " +
				"and kiln " +
				"has no use for it"}},
		"two encryption keys": {func(f files) {
			f["enc.yaml"] = encryption("[secrets]", "- secretbox: {keys: [{name: a, secret: "+
				""+secret+
				"}, {name: b, secret: "+secret+"}]}")
		}, []string{"enc.yaml: 2 keys; want the one that writes: write all Secrets with it, " +
			"take the " +
			"others out, and import then. Without a key there is nothing to import: leave the " +
			"flag out"}},
		"a short encryption key": {func(f files) {
			f["enc.yaml"] = encryption("[secrets]", "- aescbc: {keys: [{name: a, secret: AAAA}]}")
		}, []string{"enc.yaml: the key of aescbc is not one of 32 bytes in base64; turn the " +
			"cluster " +
			"over to a new key first"}},
		"a name of kiln's": {func(f files) {
			f["enc.yaml"] = encryption("[secrets]", "- secretbox: {keys: [{name: g2, secret: "+
				""+secret+"}]}")
		}, []string{"enc.yaml: the name of the key is what kiln calls a later key of its own; " +
			"turn the cluster over to a key with another name first"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := files{}
			for name, data := range base {
				f[name] = bytes.Clone(data)
			}
			row.spoil(f)
			_, err := f.read()
			require.EqualError(t, err, strings.Join(row.want, "\n"))
			for _, key := range []string{"ca.key", "etcd/ca.key", "sa.key"} {
				for _, line := range strings.Split(string(f[key]), "\n") {
					if len(line) == 64 {
						require.NotContains(t, err.Error(), line)
					}
				}
			}
		})
	}
}

// Two CAs by openssl: Go makes neither an RSA key with 1024 bits nor a signature with SHA-1.
const (
	weakCA = `-----BEGIN CERTIFICATE-----
MIICDDCCAXWgAwIBAgIUG87y8co0OA8uuKSx7RzpnzgL2BcwDQYJKoZIhvcNAQEL
BQAwDzENMAsGA1UEAwwEd2VhazAgFw0yNjExMjQyMjU2MzJaGA8yMTI2MTAzMTIy
NTYzMlowDzENMAsGA1UEAwwEd2VhazCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkC
gYEAwc7LEdS2mPEs1bGa6rCQDQih/bQUqdwJqucccwhmMUWJpbZiMIorJQL5r0h8
yQnJx0khFixXT9H3egTjsKfgcpdTLxGGK2yqCskQwOZmx16STS5uQ/snjA602bJS
8FbIqz87EJTLbZmKpGibFnYavO21BhkeL0MgEKEntVtJ+QkCAwEAAaNjMGEwHQYD
VR0OBBYEFO/k+NxelT02yf7k6VgG+1DcGwwNMB8GA1UdIwQYMBaAFO/k+NxelT02
yf7k6VgG+1DcGwwNMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgIEMA0G
CSqGSIb3DQEBCwUAA4GBADmmKI54ZTWDsuxtZ4MCpilMBRH/GWtlXvGEWcuY8JtQ
ZdZjGNKbPo0hV52j20JaiXJNVA6SE+CEe3moBIKCyy4/QNfbIaKMhcD/tL6kfRVi
WsdW+jHLE6f53esHlto8Dwh4WZsVGYv2M7FKF6GC3NEHTDmUmYbu9fdBsWJ0wi4x
-----END CERTIFICATE-----
`
	sha1CA = `-----BEGIN CERTIFICATE-----
MIIBhDCCASqgAwIBAgIUHqCD+EXuEVjebkeofElg4GnEo8kwCQYHKoZIzj0EATAP
MQ0wCwYDVQQDDARzaGExMCAXDTI2MTEyNDIyNTYzMloYDzIxMjYxMDMxMjI1NjMy
WjAPMQ0wCwYDVQQDDARzaGExMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEvl7l
Brahi+JEgxEiKIq5A96AeqsSHNgDes4oYT7uVuVw40uahSJSx0OotMMfVWdZQNgP
5d0aj0cY7A0c+NyBoqNjMGEwHQYDVR0OBBYEFNuARgbgqK+C3VxatRJxSr9i19Bs
MB8GA1UdIwQYMBaAFNuARgbgqK+C3VxatRJxSr9i19BsMA8GA1UdEwEB/wQFMAMB
Af8wDgYDVR0PAQH/BAQDAgIEMAkGByqGSM49BAEDSQAwRgIhALYCxHms6mQpkaRM
qVp72Z0B1SGjexpMGM2bKeCwqC1+AiEAtxCW/drCYWQIaQdlrZfYdfSFK8CjNvGm
yJprddNx4S4=
-----END CERTIFICATE-----
`
)

package external_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki/external"
	"kiln.dev/kiln/pki/root"
)

var now = time.Date(2027, 6, 1, 12, 0, 0, 0, time.UTC)

// ca is a CA of a test.
type ca struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func newCA(t *testing.T, key crypto.Signer, change func(*x509.Certificate)) ca {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "company"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return ca{cert, key}
}

func newKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

// leaf is what the tests want.
func leaf() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "kube-apiserver", Organization: []string{"a", "b"}},
		NotBefore:    now.Add(-time.Minute), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"api.example.com"}, IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)},
	}
}

// TestFaults: a certificate is taken if it is what was asked for, and each difference that matters
// has its own words.
func TestFaults(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	authority := newCA(t, rsaKey, nil)
	namesake := newCA(t, newKey(t), nil)
	narrow := newCA(t, newKey(t), func(c *x509.Certificate) {
		c.PermittedDNSDomainsCritical, c.PermittedDNSDomains = true, []string{"example.org"}
	})
	clients := newCA(t, newKey(t), func(c *x509.Certificate) {
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	})
	modulus := new(big.Int).Lsh(big.NewInt(1), 400_000)
	huge := ca{cert: new(x509.Certificate)}
	*huge.cert = *authority.cert
	huge.cert.PublicKey = &rsa.PublicKey{N: modulus.Add(modulus, big.NewInt(1)), E: 65537}
	unknown := pkix.Extension{
		Id: asn1.ObjectIdentifier{1, 2, 3, 4}, Critical: true, Value: []byte{5, 0},
	}
	type cert = x509.Certificate
	type row struct {
		change func(*cert)
		alter  func(*cert) // for what Go does not make
		signer *ca         // another one than the CA that is wanted
		wanted *ca         // another CA than usual
		long   time.Duration
		until  time.Time
		stored bool   // it is judged without the time
		want   string // none if it is taken
	}
	rows := map[string]row{
		"as asked":   {},
		"another CA": {signer: &namesake, want: `the CA "company" did not sign it, but "company"`},
		"an administrator for a year": {
			long: 7 * 24 * time.Hour,
			want: "it lives for 366 days, and it may do everything: want 7",
		},
		"an administrator for a week, in days of a CA": {
			change: func(c *x509.Certificate) { c.NotAfter = now.Add(8 * 24 * time.Hour) },
			long:   7 * 24 * time.Hour,
		},
		"an administrator for some days too long": {
			change: func(c *x509.Certificate) { c.NotAfter = now.Add(9 * 24 * time.Hour) },
			long:   7 * 24 * time.Hour,
			want:   "it lives for 9 days, and it may do everything: want 7",
		},
		"an administrator who ends a day late": {
			change: func(c *x509.Certificate) { c.NotAfter = now.Add(72 * time.Hour) },
			until:  now.Add(48 * time.Hour),
		},
		"an administrator who ends two days late": {
			change: func(c *x509.Certificate) { c.NotAfter = now.Add(72 * time.Hour) },
			until:  now.Add(24 * time.Hour), stored: true,
			want: "it would end on 2027-06-04T12:00:00Z, and it may do everything: want " +
				"2027-06-02T12:00:00Z at the latest",
		},
		"stored":           {stored: true},
		"stored and ended": {stored: true, change: func(c *x509.Certificate) { c.NotAfter = now }},
		"stored and dated back": {
			stored: true,
			change: func(c *x509.Certificate) { c.NotBefore = now.AddDate(-5, 0, 0) },
		},
		"stored, of another CA": {
			stored: true, signer: &namesake, want: `the CA "company" did not sign it`,
		},
		"stored, longer than its CA": {
			stored: true, change: func(c *x509.Certificate) { c.NotAfter = now.AddDate(11, 0, 0) },
			want: "after its CA",
		},
		"stored, names that the CA must not sign": {
			stored: true, signer: &narrow, wanted: &narrow, want: "it does not verify: ",
		},
		"SHA-1": {
			alter: func(c *x509.Certificate) { c.SignatureAlgorithm = x509.SHA1WithRSA },
			want:  "it is signed with SHA1-RSA, which no client accepts; want SHA-256 or better",
		},
		"a CA with a huge key": {
			wanted: &huge, want: `the CA "company" did not sign it`,
		},
		"names that the CA must not sign": {
			signer: &narrow, wanted: &narrow, want: "it does not verify: ",
		},
		"a CA for clients alone": {
			signer: &clients, wanted: &clients, want: "it does not verify: ",
		},
	}
	for _, plain := range []struct {
		name   string
		change func(*cert)
		want   string
	}{
		{"common name", func(c *cert) { c.Subject.CommonName = "root" },
			`its common name is "root", want "kube-apiserver"`},
		{"no common name", func(c *cert) { c.Subject.CommonName = "" },
			`its common name is "", want`},
		{"a group more", func(c *cert) {
			c.Subject.Organization = append(c.Subject.Organization, "system:masters")
		}, "its organizations are a, b, system:masters, want a, b"},
		{"a group less", func(c *cert) { c.Subject.Organization = nil },
			"its organizations are none, want a, b"},
		{"groups in another order", func(c *cert) { c.Subject.Organization = []string{"b", "a"} },
			""},
		{"more in the subject", func(c *cert) { c.Subject.Country = []string{"CH"} }, ""},
		{"a name less", func(c *cert) { c.IPAddresses = nil },
			"it is not for IP:10.0.0.1: the names of the request are missing"},
		{"a name more", func(c *cert) { c.DNSNames = append(c.DNSNames, "other") },
			"it is also for DNS:other, and nobody asked for that"},
		{"the common name as a name",
			func(c *cert) { c.DNSNames = append(c.DNSNames, "kube-apiserver") },
			""},
		{"an address of mail", func(c *cert) { c.EmailAddresses = []string{"a@example.com"} },
			"it is also for email:a@example.com"},
		{"an address as a DNS name",
			func(c *cert) { c.IPAddresses, c.DNSNames = nil, append(c.DNSNames, "10.0.0.1") },
			"it is not for IP:10.0.0.1: the names of the request are missing, or have " +
				"changed since\nit is also for DNS:10.0.0.1, and nobody asked for that"},
		{"the common name as an address of mail",
			func(c *cert) { c.EmailAddresses = []string{"kube-apiserver"} },
			"it is also for email:kube-apiserver"},
		{"a DNS name as an address of mail",
			func(c *cert) { c.DNSNames, c.EmailAddresses = nil, []string{"api.example.com"} },
			"it is not for DNS:api.example.com"},
		{"a URI", func(c *cert) {
			c.URIs = []*url.URL{{Scheme: "spiffe", Host: "example.com", Path: "/a"}}
		}, "it is also for URI:spiffe://example.com/a"},
		{"no usage", func(c *cert) { c.ExtKeyUsage = nil },
			"its extended key usage lacks serverAuth"},
		{"both usages",
			func(c *cert) { c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageClientAuth) },
			""},
		{"any usage", func(c *cert) { c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageAny) },
			"has more than serverAuth and clientAuth"},
		{"no key usage", func(c *cert) { c.KeyUsage = 0 }, "its key usage lacks digitalSignature"},
		{"the key usage of a CA", func(c *cert) { c.KeyUsage |= x509.KeyUsageCertSign },
			"it is a CA, or has the key usage of one"},
		{"a CA", func(c *cert) { c.IsCA, c.BasicConstraintsValid = true, true },
			"it is a CA, or has the key usage of one"},
		{"key encipherment", func(c *cert) { c.KeyUsage |= x509.KeyUsageKeyEncipherment }, ""},
		{"not yet valid", func(c *cert) { c.NotBefore = now.Add(time.Hour) },
			"it is not valid before 2027-06-01T13:00:00Z; look at this computer's clock"},
		{"ended", func(c *cert) { c.NotAfter = now }, "it ended on 2027-06-01T12:00:00Z"},
		{"longer than its CA", func(c *cert) { c.NotAfter = now.AddDate(11, 0, 0) },
			"it would end on 2038-06-01T12:00:00Z, after its CA (2037-06-01T12:00:00Z)"},
		{"an extension that nobody knows",
			func(c *cert) { c.ExtraExtensions = []pkix.Extension{unknown} },
			"it has the critical extension 1.2.3.4"},
		{"a usage that nobody knows",
			func(c *cert) { c.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 2, 3}} },
			"has more than serverAuth and clientAuth"},
		{"the key usage of a CA's lists", func(c *cert) { c.KeyUsage |= x509.KeyUsageCRLSign },
			"it is a CA, or has the key usage of one"},
		{"a user's identity", func(c *cert) {
			c.Subject.ExtraNames = []pkix.AttributeTypeAndValue{
				{Type: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}, Value: "someone"},
			}
		},
			"its subject has the attribute 1.3.6.1.4.1.57683.2, which Kubernetes takes for " +
				"the UID of the user; want none"},
		{"text for a terminal", func(c *cert) { c.Subject.CommonName = "a\x1b[31m\nb" },
			`its common name is "a\u001b[31m\u000ab", want`},
	} {
		rows[plain.name] = row{change: plain.change, want: plain.want}
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wanted, signer := authority, authority
			if row.wanted != nil {
				wanted = *row.wanted
			}
			if row.signer != nil {
				signer = *row.signer
			}
			template := leaf()
			if row.change != nil {
				row.change(template)
			}
			der, err := x509.CreateCertificate(rand.Reader, template, signer.cert,
				newKey(t).Public(), signer.key)
			require.NoError(t, err)
			cert, err := x509.ParseCertificate(der)
			require.NoError(t, err)
			if row.alter != nil {
				row.alter(cert)
			}
			w := external.Wanted{Leaf: leaf(), CA: wanted.cert, Longest: row.long,
				Until: row.until}
			at := now
			if row.stored {
				at = time.Time{}
			}
			faults := strings.Join(w.Faults(cert, at), "\n")
			if row.want == "" {
				require.Empty(t, faults)
				return
			}
			require.Contains(t, faults, row.want)
		})
	}
}

// TestStored: what is stored is read back, and a damaged value is refused without being quoted.
func TestStored(t *testing.T) {
	t.Parallel()
	c := newCA(t, newKey(t), nil).cert
	s := external.Signed{
		Roots:        []root.Root{root.CA, root.EtcdCA},
		Certificates: map[string]*x509.Certificate{"apiserver/cp-1 g1": c},
		Changed:      now,
	}
	never := func(format string, _ ...any) { require.Fail(t, format) }
	require.Equal(t, s, s.File().Signed(never))
	require.Nil(t, external.Signed{}.File())
	require.Zero(t, (*external.File)(nil).Signed(never))
	good := s.File().Certificates["apiserver/cp-1 g1"]
	for name, row := range map[string]struct {
		file external.File
		want string
	}{
		"no root": {external.File{}, "external: roots: none is named"},
		"other root": {
			external.File{Roots: []root.Root{root.ServiceAccount}}, "external: roots: want ca",
		},
		"twice": {external.File{Roots: []root.Root{root.CA, root.CA}}, "each once"},
		"no time": {
			external.File{Roots: []root.Root{root.CA}, Changed: "S3CRET"},
			"external: changed: not a time such as",
		},
		"no PEM":     {one("admin g1", "x"), "certificates: admin g1: want one PEM block"},
		"two blocks": {one("admin g1", good+good), "certificates: admin g1: want one PEM block"},
		"not X.509": {
			one("admin g1", strings.Replace(good, "\nMII", "\nMIJ", 1)), "certificates: admin g1: ",
		},
		"odd mark": {one("S3CRET!", "x"), "certificates: a name that kiln does not write: "},
		"another block": {
			one("admin g1", strings.ReplaceAll(good, "CERTIFICATE", "NOTHING")), "want one PEM",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all strings.Builder
			row.file.Signed(func(format string, args ...any) {
				all.WriteString(strings.TrimSpace(fmt.Sprintf(format, args...)) + "\n")
			})
			require.Contains(t, all.String(), row.want)
			require.NotContains(t, all.String(), "S3CRET")
		})
	}
}

func one(mark, text string) external.File {
	return external.File{Roots: []root.Root{root.CA}, Certificates: map[string]string{mark: text}}
}

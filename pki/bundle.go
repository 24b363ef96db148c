// Package pki makes everything that a cluster's trust rests on. The bundle is stored and random: CA keys, the service
// account key, seeds and dates. Every leaf key and certificate is derived from it and never stored, so that the same
// bundle and configuration give the same bytes for ever. Only New draws randomness; the rest is pure.
package pki

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// The bundle's form.
const (
	apiVersion  = "kiln.dev/v1alpha1"
	kindSecrets = "Secrets"

	seedBytes = 32
	// maxBundle bounds what Load reads; a bundle is some 4 KiB whatever the cluster's size.
	maxBundle = 1 << 20
)

// Bundle is the small set of secrets that a cluster is rendered from.
type Bundle struct {
	// Cluster is the cluster's UUID: it names the etcd cluster and salts every derivation.
	Cluster string
	// Name is the cluster's name, so that a bundle is never used for another cluster.
	Name string
	// Issued is the time from which leaf certificates count.
	Issued time.Time
	// FormationDeadline is until when a new etcd cluster may be formed and the install credential is valid.
	FormationDeadline time.Time
	// Generations counts the rotations of a derived secret, by its name; absent means 1. EtcdCluster's is that of etcd's data.
	Generations map[string]int
	// Restored is the snapshot that etcd was last restored from, as kiln render --restore names it; empty if it never was.
	Restored string

	CA, EtcdCA, FrontProxyCA Authority
	// ServiceAccountKey signs service account tokens.
	ServiceAccountKey Key
	// EncryptionKey encrypts Secrets in etcd: 32 bytes.
	EncryptionKey Secret
	// LeafSeed is what all leaf keys, serial numbers and bootstrap tokens are derived from: 32 bytes.
	LeafSeed Secret
}

// Secret is a byte string that never prints itself.
type Secret []byte

// String returns the word that stands for every secret in messages.
func (Secret) String() string { return "REDACTED" }

// GoString is String for the verb %#v.
func (Secret) GoString() string { return "REDACTED" }

// Format writes the word that stands for every secret, whatever the verb.
func (Secret) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "REDACTED") }

// bundleFile is the bundle as it is stored.
type bundleFile struct {
	APIVersion        string         `json:"apiVersion"`
	Kind              string         `json:"kind"`
	Cluster           string         `json:"cluster"`
	Name              string         `json:"name"`
	Issued            string         `json:"issued"`
	FormationDeadline string         `json:"formationDeadline"`
	Generations       map[string]int `json:"generations,omitempty"`
	Restored          string         `json:"restored,omitempty"`
	CA                authorityFile  `json:"ca"`
	EtcdCA            authorityFile  `json:"etcdCA"`
	FrontProxyCA      authorityFile  `json:"frontProxyCA"`
	ServiceAccountKey string         `json:"serviceAccountKey"`
	EncryptionKey     string         `json:"encryptionKey"`
	LeafSeed          string         `json:"leafSeed"`
}

type authorityFile struct {
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
}

// Options are what a new bundle takes from the configuration and the clock.
type Options struct {
	Name            string
	Now             time.Time
	CALifetime      time.Duration
	FormationWindow time.Duration
	Algorithm       Algorithm
}

// New draws a new bundle. It is the only function here that is not pure: keys and seeds are random.
func New(o Options) (*Bundle, error) {
	now := o.Now.UTC().Truncate(time.Second)
	b := &Bundle{Name: o.Name, Issued: now, FormationDeadline: now.Add(o.FormationWindow), LeafSeed: make(Secret, seedBytes), EncryptionKey: make(Secret, seedBytes)}
	var id [16]byte
	for _, random := range [][]byte{b.LeafSeed, b.EncryptionKey, id[:]} {
		if _, err := rand.Read(random); err != nil {
			return nil, fmt.Errorf("draw randomness: %w", err)
		}
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // RFC 9562 version 4
	h := hex.EncodeToString(id[:])
	b.Cluster = strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")

	for _, a := range []struct {
		into *Authority
		name string
	}{{&b.CA, "kubernetes"}, {&b.EtcdCA, "etcd-ca"}, {&b.FrontProxyCA, "front-proxy-ca"}} {
		authority, err := newAuthority(a.name, o.Algorithm, now.Add(-caBackdate), now.Add(o.CALifetime))
		if err != nil {
			return nil, fmt.Errorf("make CA %s: %w", a.name, err)
		}
		*a.into = authority
	}
	key, err := NewKey(o.Algorithm)
	if err != nil {
		return nil, fmt.Errorf("make service account key: %w", err)
	}
	b.ServiceAccountKey = key
	return b, nil
}

// caBackdate is how long before the bundle's making its CAs are valid: machines without a clock battery boot behind.
const caBackdate = 24 * time.Hour

// Marshal returns the bundle as it is stored: YAML, with a comment that says what it is worth.
func (b *Bundle) Marshal() ([]byte, error) {
	f := bundleFile{
		APIVersion: apiVersion, Kind: kindSecrets, Cluster: b.Cluster, Name: b.Name,
		Issued: b.Issued.Format(time.RFC3339), FormationDeadline: b.FormationDeadline.Format(time.RFC3339),
		Generations:       b.Generations,
		Restored:          b.Restored,
		ServiceAccountKey: string(b.ServiceAccountKey.PEM()),
		EncryptionKey:     base64.StdEncoding.EncodeToString(b.EncryptionKey),
		LeafSeed:          base64.StdEncoding.EncodeToString(b.LeafSeed),
	}
	for _, a := range []struct {
		into *authorityFile
		from *Authority
	}{{&f.CA, &b.CA}, {&f.EtcdCA, &b.EtcdCA}, {&f.FrontProxyCA, &b.FrontProxyCA}} {
		*a.into = authorityFile{Certificate: string(a.from.PEM()), Key: string(a.from.Key.PEM())}
	}
	out, err := yaml.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode bundle: %w", err)
	}
	head := "# The secrets of cluster " + b.Name + ". Whoever reads this file owns the cluster; who loses it can never change the cluster again.\n" +
		"# Keep it out of git (or encrypted there) and keep a copy elsewhere. kiln never rewrites it unless told to.\n"
	return append([]byte(head), out...), nil
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// Load reads a stored bundle and checks it whole: unknown and repeated keys, dates, keys that do not fit their
// certificates and CAs that cannot sign are errors, all of them in one go. No error quotes a value of the bundle.
func Load(data []byte) (*Bundle, error) {
	if len(data) > maxBundle {
		return nil, fmt.Errorf("larger than %d bytes: this is not a bundle", maxBundle)
	}
	if bytes.HasPrefix(data, []byte("age-encryption.org/")) || bytes.HasPrefix(data, []byte("-----BEGIN AGE ENCRYPTED FILE-----")) {
		return nil, errors.New("the bundle is encrypted with age; decrypt it first, for example with: age -d -i KEY")
	}
	var f bundleFile
	if err := yaml.UnmarshalStrict(data, &f); err != nil {
		// The decoder's own text may quote what it could not read.
		return nil, errors.New("not a bundle: its YAML does not have the form that kiln writes")
	}
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if f.APIVersion != apiVersion || f.Kind != kindSecrets {
		fail("apiVersion and kind: want %s and %s", apiVersion, kindSecrets)
	}
	if !uuid.MatchString(f.Cluster) {
		fail("cluster: not a UUID in lower case")
	}
	if f.Name == "" {
		fail("name: the cluster's name is missing")
	}
	b := &Bundle{Cluster: f.Cluster, Name: f.Name, Generations: f.Generations, Restored: f.Restored}
	for _, d := range []struct {
		name, text string
		into       *time.Time
	}{{"issued", f.Issued, &b.Issued}, {"formationDeadline", f.FormationDeadline, &b.FormationDeadline}} {
		t, err := time.Parse(time.RFC3339, d.text)
		if err != nil {
			fail("%s: not a time such as 2026-01-31T12:00:00Z", d.name)
		}
		*d.into = t.UTC()
	}
	for _, name := range sortedKeys(f.Generations) {
		if f.Generations[name] < 1 {
			fail("generations: %s: generations count from 1", name)
		}
	}
	for _, s := range []struct {
		name, text string
		into       *Secret
	}{{"encryptionKey", f.EncryptionKey, &b.EncryptionKey}, {"leafSeed", f.LeafSeed, &b.LeafSeed}} {
		raw, err := base64.StdEncoding.DecodeString(s.text)
		if err != nil || len(raw) != seedBytes {
			fail("%s: want %d bytes as base64", s.name, seedBytes)
		}
		*s.into = raw
	}
	for _, a := range []struct {
		name string
		from authorityFile
		into *Authority
	}{{"ca", f.CA, &b.CA}, {"etcdCA", f.EtcdCA, &b.EtcdCA}, {"frontProxyCA", f.FrontProxyCA, &b.FrontProxyCA}} {
		authority, err := parseAuthority(a.from)
		if err != nil {
			fail("%s: %w", a.name, err)
		}
		*a.into = authority
	}
	key, err := ParseKey([]byte(f.ServiceAccountKey))
	if err != nil {
		fail("serviceAccountKey: %w", err)
	}
	b.ServiceAccountKey = key
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return b, nil
}

// Generation returns which rotation of the named secret is in force, counted from 1.
func (b *Bundle) Generation(name string) int {
	if g := b.Generations[name]; g > 0 {
		return g
	}
	return 1
}

// etcdGeneration is the name under which Generations counts how often etcd began anew.
const etcdGeneration = "etcd-cluster"

// EtcdCluster is the identity of the etcd cluster: the cluster's UUID, with a number once etcd was restored from a snapshot. Members of
// different identities never talk to each other, so what an old disk holds is not mixed with what was restored.
func (b *Bundle) EtcdCluster() string {
	if b.EtcdRestored() {
		return fmt.Sprintf("%s-%d", b.Cluster, b.Generation(etcdGeneration))
	}
	return b.Cluster
}

// EtcdRestored says that etcd's data comes from a snapshot: no member may begin with nothing ever again.
func (b *Bundle) EtcdRestored() bool { return b.Generation(etcdGeneration) > 1 }

// Restore gives etcd a new identity, to be restored from snapshot before deadline.
func (b *Bundle) Restore(snapshot string, deadline time.Time) {
	generations := maps.Clone(b.Generations)
	if generations == nil {
		generations = map[string]int{}
	}
	generations[etcdGeneration] = b.Generation(etcdGeneration) + 1
	b.Generations, b.Restored, b.FormationDeadline = generations, snapshot, deadline
}

func parseAuthority(f authorityFile) (Authority, error) {
	key, err := ParseKey([]byte(f.Key))
	if err != nil {
		return Authority{}, err
	}
	block, rest := pem.Decode([]byte(f.Certificate))
	if block == nil || block.Type != "CERTIFICATE" || len(bytes.TrimSpace(rest)) > 0 {
		return Authority{}, errors.New("certificate: want exactly one PEM block CERTIFICATE")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return Authority{}, errors.New("certificate: not an X.509 certificate")
	}
	switch {
	case !cert.IsCA || !cert.BasicConstraintsValid:
		return Authority{}, errors.New("certificate: not a CA")
	case cert.KeyUsage&x509.KeyUsageCertSign == 0:
		return Authority{}, errors.New("certificate: its key usage does not allow signing certificates")
	case !key.fits(cert.PublicKey):
		return Authority{}, errors.New("the key does not belong to the certificate")
	case cert.SignatureAlgorithm == x509.SHA1WithRSA || cert.SignatureAlgorithm == x509.ECDSAWithSHA1:
		return Authority{}, errors.New("certificate: signed with SHA-1, which no client accepts")
	}
	return Authority{Certificate: cert, Key: key}, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Package pki makes everything that a cluster's trust rests on, by a table of all certificates
// (spec.go). The bundle is stored and random: it
// holds the CA keys, the service account key, one seed and dates. Every leaf key and certificate is
// derived from it and never stored, so that the same bundle and configuration give the same bytes
// for ever; what a CA has signed whose key is elsewhere is stored, too. Only New, Rotate and Person
// draw random bytes; the rest is pure.
package pki

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/pki/root"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/text/yamltext"
)

// The form of a stored bundle.
const (
	apiVersion  = "kiln.dev/v1alpha1"
	kindSecrets = "Secrets"

	// maxBundle bounds what Load reads. A new bundle is a few KiB; it grows with rotations, and by
	// some lines for each machine that was renewed by name.
	maxBundle = 1 << 20
)

// Bundle holds the few secrets that a cluster is rendered from, and their public half.
type Bundle struct {
	Public

	// The keys of the CAs. A CA whose key is elsewhere has none (External).
	CAKey, EtcdCAKey, FrontProxyCAKey private.Key
	// ServiceAccountKey signs service account tokens.
	ServiceAccountKey private.Key
	// EncryptionKey encrypts Secrets in etcd: 32 bytes.
	EncryptionKey private.Secret
	// LeafSeed is what all leaf keys, serial numbers and bootstrap tokens are derived from: 32
	// bytes.
	LeafSeed private.Secret

	// NextKeys and NextEncryptionKey are the new keys of the roots that are being rotated. Nothing
	// outside of the package chooses between an old and a new key: IssuerKey, ServiceAccountKeys
	// and EncryptionKeys do.
	NextKeys          map[Root]private.Key
	NextEncryptionKey private.Secret

	// Recipients are the age recipients that the bundle is encrypted to where it is stored. There
	// are none if it is stored in plain. They are a part of the bundle because an age file does not
	// say to whom it is encrypted.
	Recipients []string
}

// bundleFile is the bundle as it is stored.
type bundleFile struct {
	head
	CA                authorityFile `json:"ca"`
	EtcdCA            authorityFile `json:"etcdCA"`
	FrontProxyCA      authorityFile `json:"frontProxyCA"`
	ServiceAccountKey string        `json:"serviceAccountKey"`
	EncryptionKey     string        `json:"encryptionKey"`
	LeafSeed          string        `json:"leafSeed"`
	// Checksum is that of the keys. Bundles of earlier releases have none.
	Checksum   string   `json:"checksum,omitempty"`
	Recipients []string `json:"recipients,omitempty"`

	Rotations map[Root]root.File `json:"rotations,omitempty"`
}

type authorityFile struct {
	Certificate string `json:"certificate"`
	Key         string `json:"key,omitempty"`
}

// Options are what a new bundle takes from the configuration and the clock.
type Options struct {
	Name            string
	Now             time.Time
	CALifetime      time.Duration
	FormationWindow time.Duration
	Algorithm       private.Algorithm
	Given           Given // the roots that are not drawn
}

// Given are the roots that a new bundle takes from files instead of drawing them.
type Given struct {
	Authorities       map[Signer]Pair
	ServiceAccountKey *private.Key
	EncryptionKey     private.Secret
	Imported          Imported
}

// Pair is a CA with its key, or without it if the key is elsewhere.
type Pair struct {
	Authority
	Key private.Key
}

// New draws a new bundle: its keys and its seed are random, unless they are given. The bundle of a
// cluster that runs already never lets its machines form one: its deadline has passed.
func New(o Options) (*Bundle, error) {
	now := o.Now.UTC().Truncate(time.Second)
	b := &Bundle{
		Public: Public{Name: o.Name, Issued: now, FormationDeadline: now.Add(o.FormationWindow)},
	}
	if given := o.Given.Imported; !given.At.IsZero() {
		b.Imported, b.FormationDeadline = given, now
		b.Imported.At = now
	}
	var id [16]byte
	for _, draw := range []func() error{
		func() (err error) { b.LeafSeed, err = private.NewSecret(); return err },
		func() (err error) { b.EncryptionKey, err = private.NewSecret(); return err },
		func() error {
			random, err := private.NewSecret()
			copy(id[:], random)
			return err
		},
	} {
		if err := draw(); err != nil {
			return nil, fmt.Errorf("draw randomness: %w", err)
		}
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // RFC 9562 version 4
	if len(o.Given.EncryptionKey) > 0 {
		b.EncryptionKey = o.Given.EncryptionKey
	}
	h := hex.EncodeToString(id[:])
	b.Cluster = strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")

	for _, a := range []struct {
		into   *Authority
		key    *private.Key
		signer Signer
	}{{&b.CA, &b.CAKey, CA}, {&b.EtcdCA, &b.EtcdCAKey, EtcdCA},
		{&b.FrontProxyCA, &b.FrontProxyCAKey, FrontProxyCA}} {
		if given, ok := o.Given.Authorities[a.signer]; ok {
			*a.into, *a.key = given.Authority, given.Key
			if given.Key.IsZero() {
				b.External.Roots = append(b.External.Roots, a.signer.Root())
			}
			continue
		}
		var err error
		name := authorityNames[a.signer]
		if *a.into, *a.key, err = newAuthority(name, o.Algorithm, now.Add(-caBackdate),
			now.Add(o.CALifetime)); err != nil {
			return nil, fmt.Errorf("make CA %s: %w", name, err)
		}
	}
	if o.Given.ServiceAccountKey != nil {
		b.ServiceAccountKey = *o.Given.ServiceAccountKey
		return b, nil
	}
	key, err := private.NewKey(o.Algorithm)
	if err != nil {
		return nil, fmt.Errorf("make service account key: %w", err)
	}
	b.ServiceAccountKey = key
	return b, nil
}

// authorityNames are the common names of the CAs of a new bundle.
var authorityNames = map[Signer]string{
	CA: "kubernetes", EtcdCA: "etcd-ca", FrontProxyCA: "front-proxy-ca",
}

// caBackdate is how long before the bundle is made its CAs begin to be valid. The clock of a
// machine without a battery is behind at boot.
const caBackdate = 24 * time.Hour

// Marshal returns the bundle as it is stored: YAML, with a comment on how to keep it.
func (b *Bundle) Marshal() ([]byte, error) {
	f := bundleFile{
		head:              b.fileHead(kindSecrets),
		ServiceAccountKey: string(b.ServiceAccountKey.PEM()),
		EncryptionKey:     base64.StdEncoding.EncodeToString(b.EncryptionKey),
		LeafSeed:          base64.StdEncoding.EncodeToString(b.LeafSeed),
		Checksum:          b.checksum(),
		Recipients:        b.Recipients,
		Rotations:         root.Files(b.Rotations, b.NextKeys, b.NextEncryptionKey),
	}
	for _, a := range []struct {
		into *authorityFile
		from *Authority
		key  private.Key
	}{{&f.CA, &b.CA, b.CAKey}, {&f.EtcdCA, &b.EtcdCA, b.EtcdCAKey},
		{&f.FrontProxyCA, &b.FrontProxyCA, b.FrontProxyCAKey}} {
		a.into.Certificate = string(a.from.StoredPEM())
		if !a.key.IsZero() {
			a.into.Key = string(a.key.PEM())
		}
	}
	out, err := yaml.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode bundle: %w", err)
	}
	comment := beginning + b.Name + ". Whoever reads this file owns the cluster. " +
		"Without it the cluster can never be changed.\n" +
		"# Keep it out of git (or encrypted there) and keep a copy elsewhere. " +
		"kiln never rewrites it unless told to.\n"
	return append([]byte(comment), out...), nil
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// Load reads a stored bundle and checks all of it. Errors are unknown and repeated keys, wrong
// dates, keys that do not belong to their certificates, and CAs that cannot sign; all of them are
// returned at once. No error quotes a value of the bundle.
func Load(data []byte) (*Bundle, error) {
	if len(data) > maxBundle {
		return nil, fmt.Errorf("larger than %d bytes: this is not a bundle", maxBundle)
	}
	if err := Mistaken(data); err != nil {
		return nil, err
	}
	if err := yamltext.Bundle.Check(data); err != nil {
		return nil, fmt.Errorf("%w: this is not a bundle, or it is cut off", err)
	}
	var f bundleFile
	if err := yaml.UnmarshalStrict(data, &f); err != nil {
		if cutOff(data) {
			return nil, errCutOff
		}
		// The decoder's own text may quote what it could not read.
		return nil, problems(data, reflect.TypeFor[bundleFile]())
	}
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	b := &Bundle{Public: f.public(kindSecrets, fail), Recipients: f.Recipients}
	for _, s := range []struct {
		name, text string
		into       *private.Secret
	}{{"encryptionKey", f.EncryptionKey, &b.EncryptionKey}, {"leafSeed", f.LeafSeed, &b.LeafSeed}} {
		raw, err := base64.StdEncoding.DecodeString(s.text)
		if err != nil || len(raw) != private.SecretBytes {
			fail("%s: want %d bytes as base64; "+damaged, s.name, private.SecretBytes)
		}
		*s.into = raw
	}
	for _, a := range []struct {
		name   string
		signer Signer
		from   authorityFile
		into   *Authority
		key    *private.Key
	}{{"ca", CA, f.CA, &b.CA, &b.CAKey}, {"etcdCA", EtcdCA, f.EtcdCA, &b.EtcdCA, &b.EtcdCAKey},
		{"frontProxyCA", FrontProxyCA, f.FrontProxyCA, &b.FrontProxyCA, &b.FrontProxyCAKey}} {
		authority, key, err := parsePair(a.from, b.Lacks(a.signer))
		if err != nil {
			fail("%s: %w; "+damaged, a.name, err)
		}
		*a.into, *a.key = authority, key
	}
	key, err := private.ParseKey([]byte(f.ServiceAccountKey))
	if err != nil {
		fail("serviceAccountKey: %w; "+damaged, err)
	}
	b.ServiceAccountKey = key
	b.Rotations, b.NextKeys, b.NextEncryptionKey = root.ReadFiles(f.Rotations, fail)
	if len(errs) > 0 && cutOff(data) {
		return nil, errCutOff
	}
	if len(errs) == 0 {
		errs = b.dateErrors()
	}
	// Bundles of earlier releases have the checksum of the keys alone.
	if len(errs) == 0 && f.Checksum != "" && f.Checksum != b.checksum() &&
		f.Checksum != b.keysChecksum() {
		errs = append(errs, errChecksum)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return b, nil
}

// Mistaken returns an error that says what to do if data is a file that people take for a bundle:
// an empty file, an encrypted bundle, another file of the cluster. It returns nil for everything
// else. Whoever can decrypt an age file does so before.
func Mistaken(data []byte) error {
	switch what, flag := config.Recognize(data); {
	case len(bytes.TrimSpace(data)) == 0:
		return errors.New("the bundle is empty; " +
			"a render that was killed while it made the bundle can leave that. " +
			"If no document was made from it, nothing is lost: remove the file. " +
			"Otherwise restore it from a copy")
	case bytes.HasPrefix(data, []byte("age-encryption.org/")),
		bytes.HasPrefix(data, []byte("-----BEGIN AGE ENCRYPTED FILE-----")):
		return errors.New("this is an age file; decrypt it first: age -d -i KEY FILE")
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return errors.New("this is not a bundle, and no text; " +
			"name the bundle, or restore it from a copy")
	case sopsFile.Match(data):
		return errors.New(
			"the bundle is encrypted with SOPS; decrypt it on the way: --secrets <(sops -d FILE)")
	case flag == "public":
		return errors.New(
			"this is the public half of a bundle, which holds no key; name the bundle itself")
	case flag == "config":
		return errors.New("this is a configuration; it belongs to --config")
	case what != "" && flag == "":
		return fmt.Errorf("this is %s; name the bundle itself", what)
	}
	return nil
}

var sopsFile = regexp.MustCompile(`(?m)^sops:|"sops":\s*\{`)

// errCutOff comes when the end of a bundle is missing.
var errCutOff = errors.New("the bundle is not whole: its end is missing; restore it from a copy")

// beginning is how Marshal begins.
const beginning = "# The secrets of cluster "

// cutOff reports whether data is the output of Marshal without its end.
func cutOff(data []byte) bool {
	_, last, _ := bytes.Cut(data, []byte("\nserviceAccountKey:"))
	return bytes.HasPrefix(data, []byte(beginning)) &&
		(!bytes.Contains(last, []byte("-----END ")) || !bytes.HasSuffix(data, []byte("\n")))
}

// parsePair reads a CA that can sign leaves, with its key, unless that is elsewhere.
func parsePair(f authorityFile, elsewhere bool) (Authority, private.Key, error) {
	if elsewhere {
		ca, err := root.ParseAuthority(f.Certificate)
		if err == nil && f.Key != "" {
			err = errors.New("has a key, and external says that it has none")
		}
		return ca, private.Key{}, err
	}
	key, err := private.ParseKey([]byte(f.Key))
	if err != nil {
		return Authority{}, private.Key{}, err
	}
	ca, err := root.ParseAuthority(f.Certificate)
	if err == nil && !key.Fits(ca.Certificate.PublicKey) {
		err = errors.New("the key does not belong to the certificate")
	}
	return ca, key, err
}

// checksum returns a short digest of the keys, of the cluster's UUID and name, and of the time of
// issue, which stay for ever. Other dates and generations are not in it: operators edit those. It
// protects from slips, and from nobody who can compute it.
func (b *Bundle) checksum() string {
	sum := sha256.Sum256([]byte(b.keysChecksum() + b.Cluster + stamp(b.Issued) + b.Name))
	return hex.EncodeToString(sum[:8])
}

// keysChecksum returns a short digest of all keys of the bundle. A key of 32 random bytes shows no
// slip of an editor, and nor does the service account key: each would be another key, and machines
// that are replaced would not understand the others.
func (b *Bundle) keysChecksum() string {
	sum := sha256.New()
	add := func(name string, secret []byte) {
		fmt.Fprintf(sum, "%s %d\n%s", name, len(secret), secret)
	}
	key := func(name string, k private.Key) {
		if !k.IsZero() { // it is elsewhere
			add(name, k.PEM())
		}
	}
	key("ca", b.CAKey)
	key("etcdCA", b.EtcdCAKey)
	key("frontProxyCA", b.FrontProxyCAKey)
	key("serviceAccountKey", b.ServiceAccountKey)
	add("encryptionKey", b.EncryptionKey)
	add("leafSeed", b.LeafSeed)
	for _, root := range slices.Sorted(maps.Keys(b.NextKeys)) {
		key("next "+string(root), b.NextKeys[root])
	}
	add("next encryptionKey", b.NextEncryptionKey)
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// errChecksum comes for a bundle with a key that kiln did not write.
var errChecksum = errors.New("checksum: not that of the keys beside it: a key, cluster, " +
	"name, issued or this line was changed after kiln wrote it, perhaps by a slip in an editor; " +
	"restore the bundle from a copy. Only if you gave it another key on purpose, remove this line")

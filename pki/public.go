package pki

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/pki/external"
	"kiln.dev/kiln/pki/root"
	"kiln.dev/kiln/render/text/yamltext"
)

// kindPublic is the kind of a stored public half.
const kindPublic = "SecretsPublic"

// Public is the half of a bundle that everybody may read: it holds no secret, and nothing that is
// computed from one. It has all dates and generations, so a review twin needs nothing else of a
// bundle.
type Public struct {
	// Cluster is the cluster's UUID: it names the etcd cluster and salts every derivation.
	Cluster string
	// Name is the cluster's name, so that a bundle is never used for another cluster.
	Name string
	// Issued is when the bundle was made. The lifetime of leaf certificates counts from it until
	// they are renewed.
	Issued time.Time
	// Renewed is when all leaf certificates were renewed; the zero time if they never were.
	Renewed time.Time
	// Renewals holds the later times at which machines were renewed alone, by name.
	Renewals map[string]time.Time
	// FormationDeadline is the time until which a new etcd cluster may be formed.
	FormationDeadline time.Time
	// InstallDeadline is the time until which the install credential is valid; the zero time means
	// the formation deadline.
	InstallDeadline time.Time
	// Tokens holds when the bootstrap tokens of pools were renewed, by the pool's name.
	Tokens map[string]TokenRenewal
	// Generations holds the generation of each derived secret, by its name; absent means 1.
	Generations map[string]int
	// Rotations are the states of the roots that were rotated, or are being rotated.
	Rotations map[Root]*Rotation
	// Restored is the snapshot that etcd was last restored from, as kiln render --restore names it;
	// empty if etcd never was restored.
	Restored string

	// Imported is what the cluster had before this bundle was made from its keys.
	Imported Imported
	// External is what CAs have signed whose keys are not in the bundle.
	External external.Signed

	// CA, EtcdCA and FrontProxyCA are the CAs of the bundle, in a rotation the old ones. Authority
	// returns the one that signs, and Trusted those that machines trust.
	CA, EtcdCA, FrontProxyCA Authority
}

// Fingerprint returns the SHA-256 of a certificate's public key (its SubjectPublicKeyInfo) in hex:
// what kubeadm calls the hash of a CA certificate.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

// Generation returns the generation of the named secret, counted from 1. A new leaf
// seed counts up the generations of all secrets that are derived from it. The identity of etcd's
// cluster is no secret, and does not change with the seed.
func (p *Public) Generation(name string) int {
	if root := Root(name); slices.Contains(Roots(), root) {
		return p.Rotation(root).Issuing()
	}
	generation := max(1, p.Generations[name])
	if name != etcdGeneration {
		generation += p.Rotation(RootLeafSeed).Generation - 1
	}
	return generation
}

// Mark is how a reviewer knows a secret: by its name and its generation. The API servers have
// both keys that encrypt Secrets in etcd while one replaces the other, the one that writes first.
func (p *Public) Mark(name string) string {
	if g := p.Rotation(RootEncryption).Generations(); name == string(RootEncryption) && len(g) > 1 {
		return fmt.Sprintf("%s g%d+g%d", name, g[0], g[1])
	}
	return generationMark(name, p.Generation(name))
}

func generationMark(name string, generation int) string {
	return fmt.Sprintf("%s g%d", name, generation)
}

// InstallEnd returns the time until which the install credential is valid.
func (p *Public) InstallEnd() time.Time {
	if p.InstallDeadline.IsZero() {
		return p.FormationDeadline
	}
	return p.InstallDeadline
}

// Extend moves the formation deadline, and the end of the install credential with it.
func (p *Public) Extend(deadline time.Time) {
	p.FormationDeadline, p.InstallDeadline = deadline, time.Time{}
}

// ExtendInstall moves the end of the install credential alone.
func (p *Public) ExtendInstall(deadline time.Time) { p.InstallDeadline = deadline }

// Authority returns the CA that signs for s now: the new one from the stage issue of a rotation on.
func (p *Public) Authority(s Signer) *Authority { return p.Trusted(s)[0].Authority }

// stored returns the field that holds the CA of s; in a rotation the old one.
func (p *Public) stored(s Signer) *Authority {
	switch s {
	case EtcdCA:
		return &p.EtcdCA
	case FrontProxyCA:
		return &p.FrontProxyCA
	default:
		return &p.CA
	}
}

// Template returns the certificate of spec without what depends on its key: Issue adds the serial
// number, the public key, the key identifier and the signature. Where the key of the CA is
// elsewhere, it is the certificate that was signed there. It fails if the certificate would outlive
// its CA, or if nobody has signed it yet.
func (p *Public) Template(spec Spec) (*x509.Certificate, error) {
	ca := p.Authority(spec.Signer).Certificate
	switch signed := p.Signed(spec); {
	case signed != nil:
		return signed, nil
	case p.Lacks(spec.Signer):
		return nil, fmt.Errorf("certificate %s: the bundle has no key of its CA %q, and nobody "+
			"has signed it yet: kiln certs csr writes the request", spec.Name,
			ca.Subject.CommonName)
	case spec.NotAfter.After(ca.NotAfter):
		return nil, fmt.Errorf("certificate %s: would end on %s, after its CA %q (%s); shorten "+
			"certificates.lifetime or make new CAs",
			spec.Name, spec.NotAfter.Format(time.DateOnly), ca.Subject.CommonName,
			ca.NotAfter.Format(time.DateOnly))
	}
	c := spec.Leaf()
	c.Issuer = ca.Subject
	if c.NotBefore.Before(ca.NotBefore) { // some verifiers want a leaf within the time of its CA
		c.NotBefore = ca.NotBefore
	}
	return c, nil
}

// head holds the fields that a stored bundle and its stored public half have in common.
type head struct {
	APIVersion        string               `json:"apiVersion"`
	Kind              string               `json:"kind"`
	Cluster           string               `json:"cluster"`
	Name              string               `json:"name"`
	Issued            string               `json:"issued"`
	Renewed           string               `json:"renewed,omitempty"`
	Renewals          map[string]string    `json:"renewals,omitempty"`
	FormationDeadline string               `json:"formationDeadline"`
	InstallDeadline   string               `json:"installDeadline,omitempty"`
	Tokens            map[string]tokenFile `json:"tokens,omitempty"`
	Generations       map[string]int       `json:"generations,omitempty"`
	Restored          string               `json:"restored,omitempty"`
	Imported          *File                `json:"imported,omitempty"`
	External          *external.File       `json:"external,omitempty"`
}

// publicFile is the public half as it is stored: each CA has its certificate alone.
type publicFile struct {
	head
	CA           string `json:"ca"`
	EtcdCA       string `json:"etcdCA"`
	FrontProxyCA string `json:"frontProxyCA"`

	Rotations map[Root]root.Head `json:"rotations,omitempty"`
}

func (p *Public) fileHead(kind string) head {
	optional := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return stamp(t)
	}
	return head{
		APIVersion: apiVersion, Kind: kind, Cluster: p.Cluster, Name: p.Name,
		Issued: stamp(p.Issued), Renewed: optional(p.Renewed), Renewals: stamps(p.Renewals),
		FormationDeadline: stamp(p.FormationDeadline), InstallDeadline: optional(p.InstallDeadline),
		Tokens: tokenFiles(p.Tokens), Generations: p.Generations, Restored: p.Restored,
		Imported: p.Imported.File(), External: p.External.File(),
	}
}

// public checks the head of a stored file and returns its values. It calls fail for each mistake.
func (h *head) public(kind string, fail func(string, ...any)) Public {
	if h.APIVersion != apiVersion || h.Kind != kind {
		fail("apiVersion and kind: want %s and %s", apiVersion, kind)
	}
	if !uuid.MatchString(h.Cluster) {
		fail("cluster: not a UUID in lower case")
	}
	if h.Name == "" {
		fail("name: the cluster's name is missing")
	}
	p := Public{Cluster: h.Cluster, Name: h.Name, Generations: h.Generations, Restored: h.Restored,
		Renewals: renewals(h.Renewals, fail), Tokens: tokenRenewals(h.Tokens, fail),
		Imported: h.Imported.Imported(fail), External: h.External.Signed(fail)}
	for _, d := range []struct {
		name, text string
		into       *time.Time
		optional   bool
	}{
		{"issued", h.Issued, &p.Issued, false},
		{"renewed", h.Renewed, &p.Renewed, true},
		{"formationDeadline", h.FormationDeadline, &p.FormationDeadline, false},
		{"installDeadline", h.InstallDeadline, &p.InstallDeadline, true},
	} {
		if d.optional && d.text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, d.text)
		if err != nil {
			fail("%s: not a time such as 2026-01-31T12:00:00Z", d.name)
		}
		*d.into = t.UTC()
	}
	for _, name := range slices.Sorted(maps.Keys(h.Generations)) {
		if problem := generationProblem(name, h.Generations[name]); problem != "" {
			fail("generations: %s: %s", name, problem)
		}
	}
	return p
}

// Marshal returns the public half as it is stored: YAML, with a comment on its use.
func (p *Public) Marshal() ([]byte, error) {
	f := publicFile{head: p.fileHead(kindPublic), CA: string(p.CA.StoredPEM()),
		EtcdCA: string(p.EtcdCA.StoredPEM()), FrontProxyCA: string(p.FrontProxyCA.StoredPEM()),
		Rotations: root.Heads(p.Rotations)}
	out, err := yaml.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode the public half: %w", err)
	}
	text := "# The public half of the bundle of cluster " + p.Name +
		": no secret, and nothing that is computed from one. It belongs into git, where\n" +
		"# kiln render --review works from it. " +
		"kiln secrets public writes it anew after every change of the bundle.\n"
	return append([]byte(text), out...), nil
}

// LoadPublic reads a stored public half and checks all of it. It refuses a whole bundle, which does
// not belong in the place of a public half.
func LoadPublic(data []byte) (*Public, error) {
	if len(data) > maxBundle {
		return nil, fmt.Errorf("larger than %d bytes: this is not the public half of a bundle",
			maxBundle)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("the public half is empty; kiln secrets public writes it again")
	}
	if bytes.Contains(data, []byte("PRIVATE KEY-----")) {
		return nil, errors.New("holds a private key: this is not the public half of a bundle; " +
			"kiln secrets public writes that")
	}
	if err := yamltext.Bundle.Check(data); err != nil {
		return nil, fmt.Errorf("%w: this is not the public half of a bundle", err)
	}
	var f publicFile
	if err := yaml.UnmarshalStrict(data, &f); err != nil {
		return nil, errors.New("not the public half of a bundle: its YAML does not have the form " +
			"that kiln secrets public writes")
	}
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	p := f.public(kindPublic, fail)
	for _, a := range []struct {
		name, text string
		into       *Authority
	}{{"ca", f.CA, &p.CA}, {"etcdCA", f.EtcdCA, &p.EtcdCA},
		{"frontProxyCA", f.FrontProxyCA, &p.FrontProxyCA}} {
		ca, err := root.ParseAuthority(a.text)
		if err != nil {
			fail("%s: %w", a.name, err)
		}
		*a.into = ca
	}
	p.Rotations = root.ReadHeads(f.Rotations, fail)
	if len(errs) == 0 {
		errs = p.dateErrors()
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &p, nil
}

// dateErrors returns an error for each date that contradicts the CAs or another date: no
// certificate could be made with it. A date has one error, for the first CA that it does not fit.
func (p *Public) dateErrors() (errs []error) {
	for i, name := range Authorities {
		for _, ca := range p.Trusted(Signer(i)) {
			from, until := ca.Certificate.NotBefore, ca.Certificate.NotAfter
			if p.Issued.Before(from) || p.Issued.After(until) {
				return []error{fmt.Errorf("issued: %s is not in the time of the CA in %s, "+
					"%s to %s; %s", stamp(p.Issued), name, stamp(from), stamp(until), damaged)}
			}
		}
	}
	end := p.Authority(CA).Certificate.NotAfter
	for _, deadline := range []struct {
		name string
		time.Time
	}{{"formationDeadline", p.FormationDeadline}, {"installDeadline", p.InstallDeadline}} {
		switch {
		case deadline.name == "installDeadline" && deadline.IsZero():
		case deadline.Before(p.Issued):
			errs = append(errs, fmt.Errorf("%s: %s is before issued (%s); %s",
				deadline.name, stamp(deadline.Time), stamp(p.Issued), damaged))
		case deadline.After(end):
			errs = append(errs, fmt.Errorf("%s: %s is after the end of the CA in ca (%s); %s",
				deadline.name, stamp(deadline.Time), stamp(end), damaged))
		}
	}
	return slices.Concat(errs, p.renewalErrors(), p.tokenErrors(), p.externalErrors())
}

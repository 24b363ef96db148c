// Package external holds what a bundle knows of CAs whose keys it does not have: which CAs they
// are, and the certificates that somebody signed with those keys, in the form in which a bundle
// keeps them. It also says what is wrong with such a certificate, and makes none.
package external

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"slices"
	"strings"
	"time"

	"kiln.dev/kiln/pki/root"
)

// Signed is what CAs whose keys are elsewhere have signed. A bundle with all keys has the zero
// value.
type Signed struct {
	// Roots are these CAs.
	Roots []root.Root
	// Certificates are the leaf certificates, by name and generation: "apiserver/cp-1 g1".
	Certificates map[string]*x509.Certificate
	// Changed is when kiln last changed Certificates; the zero time if it never did. The dates in
	// certificates do not say it, because the CA chooses them.
	Changed time.Time
}

// Change replaces the certificates at the time now. Changed gets later each time, also if the clock
// does not.
func (s *Signed) Change(certificates map[string]*x509.Certificate, now time.Time) {
	now = now.UTC().Truncate(time.Second)
	if !now.After(s.Changed) {
		now = s.Changed.Add(time.Second)
	}
	s.Certificates, s.Changed = certificates, now
}

// File is Signed as a bundle and its public half have it. They name the CAs, so that a bundle that
// has lost a key is not taken for one that never had it.
type File struct {
	Roots        []root.Root       `json:"roots"`
	Certificates map[string]string `json:"certificates,omitempty"`
	Changed      string            `json:"changed,omitempty"`
}

// Roots returns the roots that may be elsewhere.
func Roots() []root.Root { return []root.Root{root.CA, root.EtcdCA, root.FrontProxyCA} }

// damaged is what to do about a value of a stored bundle that nobody can correct by hand.
const damaged = "restore the bundle from a copy"

// File returns s as it is stored; nil if the bundle has all keys.
func (s Signed) File() *File {
	if len(s.Roots) == 0 {
		return nil
	}
	f := &File{Roots: s.Roots}
	if !s.Changed.IsZero() {
		f.Changed = stamp(s.Changed)
	}
	for mark, c := range s.Certificates {
		if f.Certificates == nil {
			f.Certificates = map[string]string{}
		}
		f.Certificates[mark] = string(root.CertificatePEM(c))
	}
	return f
}

// Signed checks what is stored and returns its values. It calls fail for each mistake.
func (f *File) Signed(fail func(string, ...any)) (s Signed) {
	if f == nil {
		return s
	}
	s.Roots = f.Roots
	for i, r := range f.Roots {
		if !slices.Contains(Roots(), r) || slices.Contains(f.Roots[:i], r) {
			fail("external: roots: want ca, etcd-ca or front-proxy-ca, each once; " + damaged)
			break
		}
	}
	if len(f.Roots) == 0 {
		fail("external: roots: none is named; " + damaged)
	}
	if f.Changed != "" {
		changed, err := time.Parse(time.RFC3339, f.Changed)
		if err != nil {
			fail("external: changed: not a time such as 2026-01-31T12:00:00Z")
		}
		s.Changed = changed.UTC()
	}
	for _, mark := range slices.Sorted(maps.Keys(f.Certificates)) {
		block, rest := pem.Decode([]byte(f.Certificates[mark]))
		if block == nil || block.Type != "CERTIFICATE" || len(bytes.TrimSpace(rest)) > 0 {
			fail("external: certificates: %s: want one PEM block CERTIFICATE; "+damaged,
				clean(mark))
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			fail("external: certificates: %s: not an X.509 certificate; "+damaged, clean(mark))
			continue
		}
		if s.Certificates == nil {
			s.Certificates = map[string]*x509.Certificate{}
		}
		s.Certificates[mark] = c
	}
	return s
}

// clean returns a mark for a message: a mark of a changed bundle may be anything, also a secret.
func clean(mark string) string {
	name, generation, _ := strings.Cut(mark, " g")
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-./") != "" ||
		strings.Trim(generation, "0123456789") != "" || len(mark) > 120 {
		return "a name that kiln does not write"
	}
	return mark
}

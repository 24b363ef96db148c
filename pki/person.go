package pki

import (
	"crypto/x509"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"kiln.dev/kiln/pki/private"
)

// Person is someone who gets a client certificate of the cluster.
type Person struct {
	Name   string
	Groups []string
}

// personName is what names of people and groups are made of. The API server takes more, but a name
// has to be the same in a kubeconfig, in a binding and in a shell. X.509 has at most 64 characters
// (RFC 5280, ub-common-name).
var personName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._@:+-]{0,62}[A-Za-z0-9])?$`)

// reserved are the beginnings of names that belong to programs: of Kubernetes, of kiln, and of
// kubeadm, whose names kiln uses.
var reserved = []string{"system:", "kiln:", "kubeadm:"}

// Problems returns what is wrong with the names of a person and of their groups. Unless breakGlass
// is set, groups of Kubernetes' own are wrong.
func (p *Person) Problems(breakGlass bool) (problems []string) {
	fail := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf(format, args...))
	}
	const form = "want at most 64 letters, digits and . _ @ : + -, such as alice@example.com"
	switch own := programOf(p.Name); {
	case !personName.MatchString(p.Name):
		fail("--user %q: %s", p.Name, form)
	case own != "":
		fail("--user %s: %s; name a person", p.Name, own)
	}
	for _, g := range p.Groups {
		switch system := strings.HasPrefix(g, "system:"); {
		case !personName.MatchString(g):
			fail("--group %q: %s", g, form)
		case g == MastersGroup && !breakGlass:
			fail("--group %s: whoever is in it may do everything, and nobody can take that away "+
				"before the certificate ends: no binding gives it these rights. Want a group of "+
				"your own with a binding, or %s, whose binding can be deleted; if RBAC itself is "+
				"broken, add --break-glass", g, AdminGroup)
		case system && !breakGlass:
			fail("--group %s: Kubernetes gives the groups system:… to its own programs; want a "+
				"group of your own, or add --break-glass", g)
		case !system && g != AdminGroup && programOf(g) != "":
			fail("--group %s: %s; want a group of your own", g, programOf(g))
		}
	}
	return problems
}

// programOf returns that a name belongs to a program, or the empty string.
func programOf(name string) string {
	for _, r := range reserved {
		if strings.HasPrefix(name, r) {
			return "names " + r + "… belong to programs"
		}
	}
	taken := name == adminCN
	for i := range table {
		taken = taken || table[i].cn == name
	}
	if taken {
		return "kiln gives this name to a certificate of its own"
	}
	return ""
}

// IssuePerson returns a client certificate of the cluster's CA, from an hour before now until then,
// with a new random key: what was made twice for one person is two credentials, and no holder of
// the one can be taken for the holder of the other. The bundle keeps nothing of it. It fails if the
// certificate would outlive the CA.
func (b *Bundle) IssuePerson(p Person, now, until time.Time) (*Certificate, error) {
	groups := slices.Compact(slices.Sorted(slices.Values(p.Groups)))
	key, err := private.NewKey(private.P256)
	if err != nil {
		return nil, fmt.Errorf("make the key of %s: %w", p.Name, err)
	}
	return b.issue(Spec{
		Name: "person/" + p.Name, Base: "person", Signer: CA, CommonName: p.Name,
		Organizations: groups, Usages: client,
		NotBefore: now.Add(-leafBackdate), NotAfter: until,
	}, key, x509.CreateCertificate)
}

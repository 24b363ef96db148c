package external

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"kiln.dev/kiln/pki/root"
	"kiln.dev/kiln/render/text/wording"
)

// Wanted is what a certificate that was signed elsewhere has to be.
type Wanted struct {
	// Leaf has the subject, the names and the usages.
	Leaf *x509.Certificate
	// CA is the one that signs.
	CA *x509.Certificate
	// Longest and Until bound the life and the end of an administrator's credential; zero means
	// that the CA decides.
	Longest time.Duration
	Until   time.Time
}

// Differs returns in which points c is not the certificate that is wanted: subject, names, usages.
// It does not look at the signature, at dates and at the key.
func (w Wanted) Differs(c *x509.Certificate) (faults []string) {
	fail := func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf(format, args...))
	}
	if got, want := c.Subject.CommonName, w.Leaf.Subject.CommonName; got != want {
		fail("its common name is %s, want %q", quote(got), want)
	}
	if slices.ContainsFunc(c.Subject.Names,
		func(a pkix.AttributeTypeAndValue) bool { return a.Type.Equal(userID) }) {
		fail("its subject has the attribute %s, which Kubernetes takes for the UID of the user; "+
			"want none", userID)
	}
	missing, more := apart(w.Leaf.Subject.Organization, c.Subject.Organization)
	if len(missing)+len(more) > 0 {
		fail("its organizations are %s, want %s", list(c.Subject.Organization),
			list(w.Leaf.Subject.Organization))
	}
	missing, more = apart(names(w.Leaf), names(c))
	if len(missing) > 0 {
		fail("it is not for %s: the names of the request are missing, or have changed since",
			strings.Join(missing, ", "))
	}
	// Many CAs make a name of the common name; no client dials one that kiln gives.
	more = slices.DeleteFunc(more, func(s string) bool { return s == "DNS:"+c.Subject.CommonName })
	if len(more) > 0 {
		fail("it is also for %s, and nobody asked for that", list(more))
	}
	for _, u := range w.Leaf.ExtKeyUsage {
		if !slices.Contains(c.ExtKeyUsage, u) {
			fail("its extended key usage lacks %s", usageNames[u])
		}
	}
	// Profiles of many CAs give both usages to everything. A client without names serves nothing,
	// and the subject of a server has no rights that its machine does not have.
	if len(c.UnknownExtKeyUsage) > 0 || slices.ContainsFunc(c.ExtKeyUsage,
		func(u x509.ExtKeyUsage) bool { return usageNames[u] == "" }) {
		fail("its extended key usage has more than serverAuth and clientAuth")
	}
	return faults
}

// Faults returns everything that is wrong with c at the time now. With the zero time it returns
// what is wrong at any time. It does not look at the key.
func (w Wanted) Faults(c *x509.Certificate, now time.Time) []string {
	faults := w.Differs(c)
	fail := func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf(format, args...))
	}
	if c.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		fail("its key usage lacks digitalSignature")
	}
	if c.IsCA || c.KeyUsage&(x509.KeyUsageCertSign|x509.KeyUsageCRLSign) != 0 {
		fail("it is a CA, or has the key usage of one")
	}
	if len(c.UnhandledCriticalExtensions) > 0 {
		fail("it has the critical extension %s, which Go does not know, so that Kubernetes "+
			"refuses it", c.UnhandledCriticalExtensions[0])
	}
	switch {
	case now.IsZero():
	case now.Before(c.NotBefore):
		fail("it is not valid before %s; look at this computer's clock, or wait",
			stamp(c.NotBefore))
	case !now.Before(c.NotAfter):
		fail("it ended on %s", stamp(c.NotAfter))
	}
	switch {
	case c.NotAfter.After(w.CA.NotAfter):
		fail("it would end on %s, after its CA (%s)", stamp(c.NotAfter), stamp(w.CA.NotAfter))
	case w.Longest > 0 && c.NotAfter.Sub(c.NotBefore) > w.Longest+spare:
		fail("it lives for %d days, and it may do everything: want %d at most, "+
			"the time to form the cluster", days(c.NotAfter.Sub(c.NotBefore)), days(w.Longest))
	case !InTime(c, w.Until):
		fail("it would end on %s, and it may do everything: want %s at the latest, when the time "+
			"to form the cluster ends", stamp(c.NotAfter), stamp(w.Until))
	}
	switch {
	case slices.Contains(root.Broken, c.SignatureAlgorithm):
		// Go's CheckSignature lets SHA-1 pass, and Verify then says "unknown authority".
		fail("it is signed with %s, which no client accepts; want SHA-256 or better",
			c.SignatureAlgorithm)
	case !root.Signed(w.CA, c):
		fail("the CA %s did not sign it, but %s", quote(w.CA.Subject.CommonName), issuer(c))
	}
	if len(faults) > 0 {
		return faults
	}
	// Go's own judgement, as Kubernetes and etcd have it: limits of the CA for names and usages.
	if now.IsZero() {
		now = c.NotBefore
		if now.Before(w.CA.NotBefore) {
			now = w.CA.NotBefore // CAs may date back
		}
	}
	roots := x509.NewCertPool()
	roots.AddCert(w.CA)
	for _, usage := range w.Leaf.ExtKeyUsage {
		_, err := c.Verify(x509.VerifyOptions{
			Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage},
		})
		if err != nil {
			fail("it does not verify: %s", wording.Visible(err.Error(), ""))
			break
		}
	}
	return faults
}

// spare is how much longer than wanted a short life may be: CAs count in days, and begin some
// minutes or hours before they sign.
const spare = 25 * time.Hour

// InTime reports whether c ends by that time, or little later. The zero time is never.
func InTime(c *x509.Certificate, until time.Time) bool {
	return until.IsZero() || !c.NotAfter.After(until.Add(spare))
}

// userID is the attribute that API servers read since Kubernetes 1.34
// (k8s.io/apiserver/pkg/authentication/request/x509).
var userID = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}

// usageNames are the usages of kiln's leaf certificates.
var usageNames = map[x509.ExtKeyUsage]string{
	x509.ExtKeyUsageServerAuth: "serverAuth", x509.ExtKeyUsageClientAuth: "clientAuth",
}

// Usages returns the extended key usages of c by their names in RFC 5280.
func Usages(c *x509.Certificate) (all []string) {
	for _, u := range c.ExtKeyUsage {
		all = append(all, usageNames[u])
	}
	return all
}

// names returns everything that a certificate is valid for, sorted. Each name has its kind, as
// OpenSSL shows it: an address that is written as a DNS name is no address.
func names(c *x509.Certificate) (all []string) {
	for _, name := range c.DNSNames {
		all = append(all, "DNS:"+name)
	}
	for _, ip := range c.IPAddresses {
		all = append(all, "IP:"+net.IP(ip).String())
	}
	for _, mail := range c.EmailAddresses {
		all = append(all, "email:"+mail)
	}
	for _, u := range c.URIs {
		all = append(all, "URI:"+u.String())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// apart returns what only want has, and what only got has.
func apart(want, got []string) (missing, more []string) {
	for _, s := range want {
		if !slices.Contains(got, s) {
			missing = append(missing, s)
		}
	}
	for _, s := range got {
		if !slices.Contains(want, s) {
			more = append(more, s)
		}
	}
	return missing, more
}

// issuer says who signed c, as it says itself.
func issuer(c *x509.Certificate) string {
	if name := c.Issuer.CommonName; name != "" {
		return quote(name) + ", or a CA of that name with another key"
	}
	return "another one"
}

func list(values []string) string {
	if len(values) == 0 {
		return "none"
	}
	return wording.Visible(strings.Join(values, ", "), "")
}

func quote(text string) string { return `"` + wording.Visible(text, "") + `"` }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func days(d time.Duration) int { return int(d.Hours() / 24) }

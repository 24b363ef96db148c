package pki

import (
	"crypto/x509"
	"net"
	"slices"
	"strings"
	"time"

	"kiln.dev/kiln/render/text/wording"
)

// usageNames are the usages of kiln's leaf certificates, as Summary writes them.
var usageNames = map[x509.ExtKeyUsage]string{
	x509.ExtKeyUsageServerAuth: "server",
	x509.ExtKeyUsageClientAuth: "client",
}

// Summary returns a certificate as one readable line: subject, issuer, usages, dates, kind of key,
// the fingerprint of the public key (CAs alone), names. For leaf certificates it omits everything
// that depends on the key, so that it says the same of a template and of the issued certificate.
func Summary(c *x509.Certificate) string {
	var usages []string
	for _, u := range c.ExtKeyUsage {
		usages = append(usages, usageNames[u])
	}
	if c.IsCA {
		usages = append(usages, "ca")
	}
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, net.IP(ip).String())
	}
	parts := []string{
		"subject " + c.Subject.String(),
		"issuer " + c.Issuer.String(),
		"for " + strings.Join(usages, ","),
		"from " + c.NotBefore.UTC().Format(time.RFC3339),
		"until " + c.NotAfter.UTC().Format(time.RFC3339),
		c.PublicKeyAlgorithm.String(),
	}
	if c.IsCA {
		parts = append(parts, "fingerprint SHA-256 "+Fingerprint(c))
	}
	if len(names) > 0 {
		parts = append(parts, "names "+strings.Join(names, ","))
	}
	return wording.Visible(strings.Join(parts, "; "), "")
}

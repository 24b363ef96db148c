package render

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"kiln/pki"
	"kiln/render/node"
)

// reviewed returns what a reader may see of a machine. Every file has its line; below it stands what is known of a file whose content is
// not shown, and what certificates say. The file of an entry is nil unless its content is shown. Nothing is computed from a secret.
func reviewed(n *node.Node) []entry {
	list := entries(n)
	for i := range list {
		e := &list[i]
		if e.file == nil {
			continue
		}
		shown := e.file.Shown
		if e.file.Secret != "" {
			e.text = strings.TrimSuffix(e.text, "\n") + " <secret " + e.file.Secret + ">\n"
		} else if len(shown) == 0 {
			shown = certificates(e.file.Content)
		}
		if len(shown) > 0 {
			e.text += indented(strings.Join(shown, "\n")) + "\n"
		}
		if e.file.Secret != "" || len(e.file.Shown) > 0 {
			e.file = nil
		}
	}
	return list
}

// certificates describes each certificate of a PEM file.
func certificates(data []byte) (lines []string) {
	if !bytes.Contains(data, []byte("-----BEGIN CERTIFICATE-----")) {
		return nil
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			lines = append(lines, "certificate that cannot be read")
			continue
		}
		lines = append(lines, "certificate: "+Describe(cert))
	}
	return lines
}

// Describe writes a certificate as one readable line: subject, issuer, usages, dates, kind of key, of a CA its public key's fingerprint,
// names. Of a leaf nothing is in it that depends on its key.
func Describe(c *x509.Certificate) string {
	var usages []string
	for _, u := range c.ExtKeyUsage {
		usages = append(usages, map[x509.ExtKeyUsage]string{x509.ExtKeyUsageServerAuth: "server", x509.ExtKeyUsageClientAuth: "client"}[u])
	}
	if c.IsCA {
		usages = append(usages, "ca")
	}
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, net.IP(ip).String())
	}
	parts := []string{
		"subject " + c.Subject.String(), "issuer " + c.Issuer.String(), "for " + strings.Join(usages, ","),
		"from " + c.NotBefore.UTC().Format(time.RFC3339), "until " + c.NotAfter.UTC().Format(time.RFC3339), c.PublicKeyAlgorithm.String(),
	}
	if c.IsCA {
		parts = append(parts, "fingerprint SHA-256 "+pki.Fingerprint(c))
	}
	if len(names) > 0 {
		parts = append(parts, "names "+strings.Join(names, ","))
	}
	return strings.Join(parts, "; ")
}

// reviewedAdmin is the line of the operator's kubeconfig, which is on no machine.
func (r *Cluster) reviewedAdmin() (string, error) {
	spec := r.Public.AdminSpec(r.Plan)
	cert, err := r.Public.Describe(spec)
	if err != nil {
		return "", err
	}
	secret := r.generation(spec.Name)
	return fmt.Sprintf("file %s %s <secret %s>\n%s\n", AdminFile, r.Plan.EndpointURL(), secret, indented("certificate "+secret+": "+Describe(cert))), nil
}

package render

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	"kiln/render/node"
	"kiln/render/plan"
)

// Reviewed returns a machine's files for a reader: secrets are replaced by their names and generations, certificates by
// one line each, and the hashes of secrets are left out. Nothing in it is computed from a secret. Paths are without
// their leading slash; INDEX lists the whole machine.
func Reviewed(n *node.Node) map[string][]byte {
	out := map[string][]byte{"INDEX": Index(n)}
	secret := map[string]bool{}
	for _, f := range n.Files {
		content := f.Content
		switch {
		case f.Secret != "":
			secret[f.Path] = true
			content = fmt.Appendf(nil, "<secret %s>\n", f.Secret)
		case bytes.HasPrefix(content, []byte("-----BEGIN CERTIFICATE-----")):
			content = describe(content)
		case f.Path == plan.KilnDir+"/files":
			content = maskHashes(content, n)
		}
		out[strings.TrimPrefix(f.Path, "/")] = content
	}
	return out
}

// describe writes each certificate of a PEM file as one readable line.
func describe(data []byte) []byte {
	var b bytes.Buffer
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			b.WriteString("certificate that cannot be read\n")
			continue
		}
		fmt.Fprintf(&b, "certificate %s\n", Describe(cert))
	}
	return b.Bytes()
}

// Describe writes a certificate as one readable line: subject, issuer, names, usages, dates.
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
	if len(names) > 0 {
		parts = append(parts, "names "+strings.Join(names, ","))
	}
	return strings.Join(parts, "; ")
}

// maskHashes leaves out of the manifest of files the hashes of secrets and of what depends on them.
func maskHashes(manifest []byte, n *node.Node) []byte {
	var b bytes.Buffer
	for line := range strings.Lines(string(manifest)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if len(fields) == 4 {
			if f := n.File(fields[3]); f != nil && (f.Secret != "" || path.Ext(f.Path) == ".crt" || path.Ext(f.Path) == ".pub") {
				fields[0] = "<" + path.Base(f.Path) + ">"
			}
		}
		b.WriteString(strings.Join(fields, " ") + "\n")
	}
	return b.Bytes()
}

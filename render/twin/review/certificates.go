package review

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"

	"kiln.dev/kiln/pki"
)

// certificateLines returns a line for each certificate of a PEM file, with its subject, validity
// and names. It returns none for a file without certificates.
func certificateLines(data []byte) (lines []string) {
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
		lines = append(lines, "certificate: "+pki.Summary(cert))
	}
	return lines
}

package config

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"strings"

	"kiln/render/yamlpath"
)

// pem checks that a named file has the beginning of a PEM block of the wanted kind. It notices
// swapped files.
func (v *checker) pem(name, want, kind string, at *yamlpath.Location) {
	text := v.c.Text(name)
	if text == nil {
		return
	}
	has := func(s string) bool { return bytes.Contains(text, []byte(s)) }
	if !has("-----BEGIN ") || !has(kind) || has("ENCRYPTED") {
		v.report(at, "%s does not hold %s", quote(name), want)
	}
}

// trustedCA checks the CA that a machine trusts where it fetches something. urlKey is the field
// with the URL.
func (v *checker) trustedCA(ca, caFrom, url string, at *yamlpath.Location, urlKey string) {
	switch {
	case ca != "" && caFrom != "":
		v.report(at.Key("caFrom"), "is set together with ca; write one of the two")
	case strings.HasPrefix(url, "http://") && (ca != "" || caFrom != ""):
		v.report(at.Key(urlKey), "begins with http://, where the server has no certificate; "+
			"write https://, or remove the CA")
	}
}

// caFile checks that a named file has a certificate in PEM, and that each of its certificates can
// be read. A machine gets all of them.
func (v *checker) caFile(name string, at *yamlpath.Location) {
	rest := v.c.Text(name)
	if rest == nil {
		return
	}
	const remedy = "write it as openssl x509 prints it"
	count := 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		count++
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			v.report(at, "%s holds a certificate that cannot be read; %s", quote(name), remedy)
			return
		}
	}
	if count == 0 {
		v.report(at, "%s does not hold a certificate (BEGIN CERTIFICATE); %s", quote(name), remedy)
	}
}

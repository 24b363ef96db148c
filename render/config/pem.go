package config

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"strings"

	"kiln.dev/kiln/render/text/yamltext"
)

// pem checks that a named file is PEM of the wanted kind, since people swap files.
func (v *checker) pem(name, want, kind string, at *yamltext.Location) {
	text := v.c.Text(name)
	if text == nil {
		return
	}
	has := func(s string) bool { return bytes.Contains(text, []byte(s)) }
	if !has("-----BEGIN ") || !has(kind) || has("ENCRYPTED") {
		v.report(at, "%s does not hold %s", quote(name), want)
	}
}

// trustedCA checks the CA that a machine trusts where it fetches. urlKey is the field with the URL.
func (v *checker) trustedCA(ca, caFrom, url string, at *yamltext.Location, urlKey string) {
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
func (v *checker) caFile(name string, at *yamltext.Location) {
	rest := v.c.Text(name)
	if rest == nil {
		return
	}
	const remedy = "write it as openssl x509 prints it"
	// What cannot be decoded would be left out without a word.
	begun, seen := bytes.Count(rest, []byte("-----BEGIN ")), map[string]bool{}
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		begun--
		_, err := x509.ParseCertificate(block.Bytes)
		switch id := string(block.Bytes); {
		case block.Type == "TRUSTED CERTIFICATE":
			v.report(at, "%s holds a certificate with OpenSSL's own additions (BEGIN TRUSTED "+
				"CERTIFICATE); %s", quote(name), remedy)
			return
		case block.Type != "CERTIFICATE":
			continue
		case err != nil:
			v.report(at, "%s holds a certificate that cannot be read; %s", quote(name), remedy)
			return
		case seen[id]:
			v.report(at, "%s holds the same certificate twice; remove one", quote(name))
			return
		default:
			seen[id] = true
		}
	}
	switch {
	case begun > 0:
		v.report(at, "%s holds a certificate that cannot be read; %s", quote(name), remedy)
	case len(seen) == 0:
		v.report(at, "%s does not hold a certificate (BEGIN CERTIFICATE); %s", quote(name), remedy)
	}
}

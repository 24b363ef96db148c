package config

import (
	"regexp"
	"slices"
	"strings"

	"kiln/render/yamlpath"
)

// Placeholders of a delivery's URL.
const (
	ofNode   = "{node}"
	ofSHA512 = "{sha512}"
)

// maxURL keeps a stub small, of which KubeVirt takes 2,048 bytes: with a URL of this length, a
// certificate with an ECDSA key and an ssh-ed25519 key it has just that.
const maxURL = 160

var (
	placeholder = regexp.MustCompile(`\{[^{}]*\}|[{}]`)
	// plainURL leaves out what a URL has to escape, and quotes.
	plainURL = regexp.MustCompile(`^[A-Za-z0-9:/._~{}\[\]%+,=@!$&()*;?#-]+$`)
)

// BodyURL is where the body of a machine is fetched.
func (d *Delivery) BodyURL(node, sha512 string) string {
	return strings.NewReplacer(ofNode, node, ofSHA512, sha512).Replace(d.URL)
}

// delivery checks how a layer's machines get their bodies.
func (v *checker) delivery(d *Delivery, at *yamlpath.Location) {
	if d.CAFrom != "" {
		v.pem(d.CAFrom, "a certificate (BEGIN CERTIFICATE)", "CERTIFICATE-----", at.Key("caFrom"))
	}
	if d.Mode == "" && v.has(at.Key("mode")) {
		return // its own problem has been reported
	}
	if !d.Fetches() {
		if *d != (Delivery{}) && *d != (Delivery{Mode: "whole"}) {
			v.report(at, "says where a body is fetched, and with mode whole there is none; write mode: pointer, split or lean, or remove the rest")
		}
		return
	}
	v.deliveryURL(d, at.Key("url"))
	plain := strings.HasPrefix(d.URL, "http://")
	switch {
	case d.CA != "" && d.CAFrom != "":
		v.report(at.Key("caFrom"), "stands beside ca; write one of the two")
	case plain && (d.CA != "" || d.CAFrom != ""):
		v.report(at.Key("url"), "begins with http://, where there is no certificate that a CA could have signed; write https://, or remove the CA")
	}
	if d.AllowHTTP && strings.HasPrefix(d.URL, "https://") {
		v.report(at.Key("allowHTTP"), "allows what url does not need; remove it")
	}
}

// deliveryURL checks the template of a body's URL.
func (v *checker) deliveryURL(d *Delivery, at *yamlpath.Location) {
	if d.URL == "" {
		v.report(at, "missing; write where the machine fetches its body, such as https://boot.example.com/{node}/{sha512}")
		return
	}
	known := []string{ofNode, ofSHA512}
	for _, name := range placeholder.FindAllString(d.URL, -1) {
		if !slices.Contains(known, name) {
			v.report(at, "has the placeholder %s, and there are %s; write it like https://boot.example.com/{node}/{sha512}", quote(name), strings.Join(known, " and "))
			return
		}
	}
	problem := urlProblem(strings.NewReplacer(ofNode, "node", ofSHA512, strings.Repeat("0", 128)).Replace(d.URL), "https", "http")
	switch {
	case problem != "":
		v.report(at, "%s", problem)
	case !plainURL.MatchString(d.URL) || len(d.URL) > maxURL:
		v.report(at, "%s has characters that a URL has to escape, or more than %d of them; write it like https://boot.example.com/{node}/{sha512}", quote(d.URL), maxURL)
	case !strings.Contains(d.URL, ofNode) && !strings.Contains(d.URL, ofSHA512):
		v.report(at, "has neither {node} nor {sha512}, so that all machines would fetch the same body; write it like https://boot.example.com/{node}/{sha512}")
	case strings.HasPrefix(d.URL, "http://") && !d.AllowHTTP && d.Mode != "lean":
		v.report(at, "begins with http://: whoever listens on that network reads the machine's secrets, for the SHA-512 protects the body from changes alone; write https://, or allowHTTP: true where nobody else can listen")
	}
}

package config

import (
	"regexp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/yamltext"
)

// The placeholders in the URL of a delivery.
const (
	nodePlaceholder = "{node}"
	hashPlaceholder = "{sha512}"
)

// maxURL is the most bytes of a delivery's URL. KubeVirt takes stubs of 2,048 bytes, which is the
// size of one with such a URL, a certificate with an ECDSA key, and an ssh-ed25519 key.
const maxURL = 160

var placeholder = regexp.MustCompile(`\{[^{}]*\}|[{}]`)

// BodyURL returns the URL of a machine's body. node is the name of the machine or pool.
func (d *Delivery) BodyURL(node, sha512 string) string {
	return strings.NewReplacer(nodePlaceholder, node, hashPlaceholder, sha512).Replace(d.URL)
}

func (v *checker) delivery(d *Delivery, at *yamltext.Location) {
	if d.CAFrom != "" {
		v.caFile(d.CAFrom, at.Key("caFrom"))
	}
	if d.Mode == "" && v.has(at.Key("mode")) {
		return // the decoder has reported a mode that it could not read
	}
	if !d.Fetches() {
		if *d != (Delivery{}) && *d != (Delivery{Mode: "whole"}) {
			v.report(at, "says where a body is fetched, but with mode whole there is none; "+
				"write mode: pointer, split or lean, or remove the rest")
		}
		return
	}
	v.deliveryURL(d, at.Key("url"))
	v.early(d.BodyURL("node", ""), at.Key("url"))
	v.trustedCA(d.CA, d.CAFrom, d.URL, at, "url")
	if d.AllowHTTP && strings.HasPrefix(d.URL, "https://") {
		v.report(at.Key("allowHTTP"), "allows what url does not need; remove it")
	}
}

func (v *checker) deliveryURL(d *Delivery, at *yamltext.Location) {
	if d.URL == "" {
		v.report(at, "missing; write where the machine fetches its body, "+
			"such as https://boot.example.com/{node}/{sha512}")
		return
	}
	known := []string{nodePlaceholder, hashPlaceholder}
	for _, name := range placeholder.FindAllString(d.URL, -1) {
		if !slices.Contains(known, name) {
			v.report(at, "has the placeholder %s, and there are %s; "+
				"write it like https://boot.example.com/{node}/{sha512}",
				quote(name), strings.Join(known, " and "))
			return
		}
	}
	example := d.BodyURL("node", strings.Repeat("0", 128))
	problem := urlProblem(example, "https", "http")
	switch {
	case problem != "":
		v.report(at, "%s", problem)
	case !plainURL.MatchString(d.URL) || len(d.URL) > maxURL:
		v.report(at, "%s has characters that a URL has to escape, or more than %d of them; "+
			"write it like https://boot.example.com/{node}/{sha512}", quote(d.URL), maxURL)
	case !strings.Contains(d.URL, nodePlaceholder) && !strings.Contains(d.URL, hashPlaceholder):
		v.report(at, "has neither {node} nor {sha512}, so that all machines would fetch the same "+
			"body; write it like https://boot.example.com/{node}/{sha512}")
	case strings.HasPrefix(d.URL, "http://") && !d.AllowHTTP && d.Mode != "lean":
		v.report(at, "begins with http://: whoever listens on that network reads the machine's "+
			"secrets, because the SHA-512 only protects the body from changes; "+
			"write https://, or allowHTTP: true where nobody else can listen")
	}
}

// announceURL matches the URLs that a shell takes for one word, whatever folder it is in.
var announceURL = regexp.MustCompile(`^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~-]+)*$`)

func (v *checker) announcing(r *Report, at *yamltext.Location) {
	if r.CAFrom != "" {
		v.caFile(r.CAFrom, at.Key("caFrom"))
	}
	if r.URL == "" {
		if *r != (Report{}) {
			v.report(at, "names a CA and no server; write url, such as http://10.0.0.5:8080")
		}
		return
	}
	v.early(r.URL, at.Key("url"))
	problem := urlProblem(r.URL, "http", "https")
	switch {
	case problem != "":
		v.report(at.Key("url"), "%s", problem)
	case !announceURL.MatchString(r.URL) || len(r.URL) > maxURL:
		v.report(at.Key("url"), "%s ends in a slash, has a character that a path rarely has, or "+
			"more than %d of them; write it like http://10.0.0.5:8080", quote(r.URL), maxURL)
	}
	v.trustedCA(r.CA, r.CAFrom, r.URL, at, "url")
}

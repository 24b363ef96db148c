package config

import (
	"regexp"

	"kiln.dev/kiln/render/text/yamltext"
)

// announceURL matches the URLs that a shell takes for one word, whatever folder it is in.
var announceURL = regexp.MustCompile(`^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~-]+)*$`)

// announcing checks where the machines of a layer announce the state of their first boot.
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

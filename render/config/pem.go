package config

import (
	"bytes"

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

package change

import (
	"bytes"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"kiln/render/layout"
	"kiln/render/textdiff"
)

// content compares two contents by the format of their file, or line by line.
func (f *fields) content(k Key, old, new []byte) {
	if !utf8.Valid(old) || !utf8.Valid(new) {
		f.value("content", strconv.Itoa(len(old))+" bytes, not text",
			strconv.Itoa(len(new))+" bytes, not text")
		return
	}
	before := len(*f)
	switch form(k) {
	case layout.YAML:
		var a, b any
		if countDocuments(old) == 1 && countDocuments(new) == 1 && yaml.Unmarshal(old, &a) == nil &&
			yaml.Unmarshal(new, &b) == nil && structured(a) && structured(b) {
			f.values("", a, b)
		}
	case layout.Unit:
		f.settings(directives(old), directives(new))
	case layout.Settings:
		a, readable := assignments(old)
		if b, ok := assignments(new); ok && readable {
			f.settings(a, b)
		}
	case layout.Checks:
		f.checks(old, new)
	case layout.Program:
		f.value("program", strconv.Itoa(len(textdiff.Lines(old)))+" lines",
			strconv.Itoa(len(textdiff.Lines(new)))+" others")
	case layout.Routes:
		f.routes(old, new)
	}
	if len(*f) == before {
		f.set("", textdiff.Lines(old), textdiff.Lines(new))
	}
	if len(*f) == before {
		// They differ in an order, or in something that the format ignores.
		f.add("", pointer("(the same in another order or form)"), pointer(""))
	}
}

func pointer(s string) *string { return &s }

// form returns the format of a file: of kiln's own files by the table, of others by the name.
func form(k Key) layout.Form {
	if k.Kind != "file" {
		return layout.YAML // network-config, and JSON is YAML
	}
	if file := layout.Of(k.ID); file != nil {
		return file.Form
	}
	switch dir := path.Dir(k.ID); path.Ext(k.ID) {
	case ".yaml", ".yml", ".json", ".conflist":
		return layout.YAML
	case ".service", ".timer", ".socket", ".mount", ".path", ".target", ".network", ".netdev",
		".link", ".slice", ".nmconnection":
		return layout.Unit
	case ".conf":
		switch {
		case dir == "/etc/kubernetes":
			return layout.YAML // kubeconfigs
		case strings.HasPrefix(dir, "/etc/systemd/"):
			return layout.Unit
		case dir == "/etc/sysctl.d":
			return layout.Settings
		}
	}
	return layout.Lines
}

// countDocuments returns how many documents a YAML stream has.
func countDocuments(text []byte) int {
	return 1 + bytes.Count(bytes.TrimPrefix(text, []byte("---\n")), []byte("\n---"))
}

func structured(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

package change

import (
	"bytes"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// content compares two texts as what their file's name says they are, or line by line.
func (f *fields) content(k Key, old, new []byte) {
	if !utf8.Valid(old) || !utf8.Valid(new) {
		f.value("content", strconv.Itoa(len(old))+" bytes, not text", strconv.Itoa(len(new))+" bytes, not text")
		return
	}
	before := len(*f)
	switch form(k) {
	case "yaml":
		var a, b any
		if documents(old) == 1 && documents(new) == 1 && yaml.Unmarshal(old, &a) == nil && yaml.Unmarshal(new, &b) == nil && structured(a) && structured(b) {
			f.values("", a, b)
		}
	case "unit":
		f.settings(directives(old), directives(new))
	case "settings":
		if a, b := assignments(old), assignments(new); a != nil && b != nil {
			f.settings(a, b)
		}
	case "checks":
		f.checks(old, new)
	case "program":
		f.value("program", strconv.Itoa(len(lines(old)))+" lines", strconv.Itoa(len(lines(new)))+" others")
	case "routes":
		f.routes(old, new)
	}
	if len(*f) == before {
		f.set("", lines(old), lines(new))
	}
	if len(*f) == before {
		// Only an order, or what a reader of the format does not see.
		f.add("", pointer("(the same in another order or form)"), pointer(""))
	}
}

func pointer(s string) *string { return &s }

// form is what a file is written in, by its name.
func form(k Key) string {
	if k.Kind != "file" {
		return "yaml" // network-config, and JSON is YAML
	}
	switch dir := path.Dir(k.ID); path.Ext(k.ID) {
	case ".yaml", ".yml", ".json", ".conflist":
		return "yaml"
	case ".service", ".timer", ".socket", ".mount", ".path", ".target", ".network", ".netdev", ".link", ".slice", ".nmconnection":
		return "unit"
	case ".conf":
		switch {
		case dir == "/etc/kubernetes":
			return "yaml" // kubeconfigs
		case strings.HasPrefix(dir, "/etc/systemd/"):
			return "unit"
		case dir == "/etc/sysctl.d":
			return "settings"
		}
	}
	return kilnFiles[k.ID]
}

// kilnFiles are the forms of the hook's files (templates/doc.go). Its programs change with kiln and with what a machine has; git shows them line
// by line.
var kilnFiles = map[string]string{
	"/etc/kiln/machine": "settings", "/etc/kiln/checks": "checks", "/etc/kiln/routes": "routes",
	"/etc/kiln/boot": "program", "/etc/kiln/steps": "program", "/etc/kiln/report": "program", "/etc/kiln/keep-routes": "program", "/etc/kiln/backup": "program",
}

// documents counts the documents of a YAML stream.
func documents(text []byte) int {
	return 1 + bytes.Count(bytes.TrimPrefix(text, []byte("---\n")), []byte("\n---"))
}

func structured(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

package patches

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/text/yamltext"
)

// kustomize quotes what it cannot use, whatever it is. Its messages are shown without the values of
// Secrets that the add-on has, and without the parts that quote whole objects.

// quotes are the parts of kustomize's messages that quote values at length.
var quotes = regexp.MustCompile(`(?s): node contents:.*|literal sources \[.*|` +
	`invalid literal source .*|out of bounds for value .*`)

const withheld = "(value withheld)"

func (p place) noteGenerator(field string, g *types.SecretArgs) {
	p.generators = append(p.generators, generator{p.name, field, g.Name})
	for _, name := range sourcesOf(&g.GeneratorArgs) {
		p.secretSources[p.inside(name)] = true
	}
	pairs := slices.Clone(g.LiteralSources)
	for i, pair := range pairs {
		if !strings.Contains(pair, "=") {
			p.problem(p.name, fmt.Sprintf("%s.literals[%d]", field, i),
				"has no key; write it like password=VALUE")
		}
	}
	for _, name := range append(slices.Clone(g.EnvSources), g.EnvSource) {
		pairs = append(pairs, strings.Split(string(p.files[p.inside(name)]), "\n")...)
	}
	for _, pair := range pairs {
		_, value, _ := strings.Cut(pair, "=")
		p.secrets = append(p.secrets, pair, value)
	}
	for _, source := range g.FileSources {
		p.secrets = append(p.secrets, string(p.files[p.inside(fileOf(source))]))
	}
}

// notePatch notes the strings of a patch of a Secret as values of it: all of a strategic merge, and
// the values of operations. The other words of operations stand in kustomize's own messages.
func (r *reader) notePatch(text []byte) {
	var operations []operation
	if yaml.Unmarshal(text, &operations) == nil {
		for _, op := range operations {
			r.note(op.Value)
		}
		return
	}
	var merge any
	if yaml.Unmarshal(text, &merge) == nil {
		r.note(merge)
	}
}

// note notes all strings in a value, and what they are in base64.
func (r *reader) note(value any) {
	switch v := value.(type) {
	case string:
		r.secrets = append(r.secrets, v)
		if plain, err := base64.StdEncoding.DecodeString(v); err == nil {
			r.secrets = append(r.secrets, string(plain))
		}
	case []any:
		for _, e := range v {
			r.note(e)
		}
	case map[string]any:
		for _, e := range v {
			r.note(e)
		}
	}
}

func (r *reader) noteObjects() {
	for _, data := range r.reached {
		for _, doc := range yamltext.Split(data) {
			var o struct {
				Kind             string
				Data, StringData any
			}
			if yaml.Unmarshal(doc, &o) == nil && o.Kind == secretKind {
				r.note(o.Data)
				r.note(o.StringData)
			}
		}
	}
}

// shortest is the length from which on a value is looked for everywhere, and not as a word alone.
const shortest = 4

// conceal returns the reason of an error of kustomize without values of Secrets.
func (r *reader) conceal(err error) string {
	text := quotes.ReplaceAllString(reason(err), ": "+withheld)
	r.noteObjects()
	slices.SortFunc(r.secrets, func(a, b string) int { // the longest first
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	for _, value := range slices.Compact(r.secrets) {
		switch value = strings.TrimSpace(value); {
		case len(value) >= shortest:
			text = strings.ReplaceAll(text, value, withheld)
		case value != "" && utf8.ValidString(value): // what is not UTF-8 is no word
			word := regexp.MustCompile(`\b` + regexp.QuoteMeta(value) + `\b`)
			text = word.ReplaceAllString(text, withheld)
		}
	}
	return strings.TrimSpace(text)
}

// generatorOf returns the file and the field of the generator that made the Secret of a name: the
// generator whose name is the longest part of it. The field is "" if the name was changed.
func (r *reader) generatorOf(name string) (file, field string) {
	found := generator{file: path.Clean(r.root)}
	for _, g := range r.generators {
		if strings.Contains(name, g.name) && len(g.name) > len(found.name) {
			found = g
		}
	}
	return found.file, found.field
}

package render_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/config"
)

// remedies are the ways in which messages say what to write, and what that is in YAML; "" removes
// the value and its key.
var remedies = []struct {
	form *regexp.Regexp
	yaml string
}{
	{regexp.MustCompile(`[Dd]id you mean "([^"]+)"\?( Upper and lower case matter)?$`), "$1"},
	{regexp.MustCompile(`[;,] (?:remove|leave out) (?:it|one|the entry)(?: \([^)]*\))?$`), ""},
	{regexp.MustCompile(`; remove it: [^;]*$`), ""},
	{regexp.MustCompile(`; write it like ([^;…]+?)(?: or [^;]*|, with[^;]*)?$`), "$1"},
	{regexp.MustCompile(`; write one of (?:control-plane, )?([^ ,]+)[^;]*$`), "$1"},
	{regexp.MustCompile(`; write [^;]* such as ([^ ;,…]+)$`), "$1"},
	{regexp.MustCompile(`; write ([^ ;…]*[0-9/:-][^ ;…]*|[A-Z]+[a-z]*,[A-Za-z,]+)` +
		`(?: or [^;]*|; [^;]*)?$`), "$1"},
	{regexp.MustCompile(`: missing; write (?:it like )?([a-zA-Z]+: [^;…]+)$`), "$1"},
	{regexp.MustCompile(`; write ([a-z]+)$`), "$1"},
}

// remedy returns what the message of a problem says to write, and false if it does not say it in
// one of the forms.
func remedy(message string) (text string, ok bool) {
	for _, r := range remedies {
		if m := r.form.FindStringSubmatchIndex(message); m != nil {
			text := string(r.form.ExpandString(nil, r.yaml, message, m))
			return strings.TrimRight(text, ","), true
		}
	}
	return "", false
}

// keyIsWrong matches messages about the key beside the value at their place.
var keyIsWrong = regexp.MustCompile(`unknown field|no such field|has no settings|no option`)

// nameOf matches the fields that name the entry of a list in which they are.
var nameOf = regexp.MustCompile(`\]\.(name|value|path)$`)

// scalar returns what stands in place of a value: a string if the value is one, and no list or map.
func scalar(value, put *yaml.Node, text string) *yaml.Node {
	if value.Kind != yaml.ScalarNode || strings.HasPrefix(text, "{") {
		return put
	}
	style := value.Style
	if strings.HasPrefix(text, `"`) {
		style = yaml.DoubleQuotedStyle
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: strings.Trim(text, `"`), Style: style}
}

// mend does what a problem says, with text from remedy, in a document. It reports false if nothing
// stands at the problem's place, or if the text is no YAML.
func mend(root *yaml.Node, p config.Problem, text string) bool {
	var put *yaml.Node
	if text != "" {
		var value yaml.Node
		if yaml.Unmarshal([]byte(text), &value) != nil || value.Kind == 0 {
			return false
		}
		put = value.Content[0]
	}
	isAt := func(n *yaml.Node) bool { return n.Line == p.Line && n.Column == p.Column }
	if put != nil && put.Kind == yaml.ScalarNode && fitsNoScalar(root, p) {
		return false // the message says it in words
	}
	isPair := put != nil && put.Kind == yaml.MappingNode && len(put.Content) == 2
	var walk func(n *yaml.Node) bool
	// inMap mends the i-th pair of a map, and inList the i-th entry of a list.
	inMap := func(n *yaml.Node, i int) bool {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case isPair && strings.HasPrefix(p.Message, "missing") && value.Kind == yaml.MappingNode &&
			(isAt(key) || isAt(value)):
			value.Content = append(value.Content, put.Content...)
		case !isAt(key) && (!isAt(value) || value.Kind != yaml.ScalarNode):
			return walk(value)
		case put == nil:
			n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
		case isPair && put.Content[0].Value == key.Value:
			n.Content[i+1] = put.Content[1]
		case keyIsWrong.MatchString(p.Message):
			n.Content[i] = put
		default:
			n.Content[i+1] = scalar(value, put, text)
		}
		return true
	}
	inList := func(n *yaml.Node, i int) bool {
		entry := n.Content[i]
		// What is wrong with the name of an entry is wrong with the entry.
		isName := func(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && isAt(n) }
		isArg := put == nil && nameOf.MatchString(p.Path) &&
			slices.ContainsFunc(entry.Content, isName)
		switch {
		case isPair && strings.HasPrefix(p.Message, "missing") && isAt(entry):
			entry.Content = append(entry.Content, put.Content...)
		case !isAt(entry) && !isArg:
			return walk(entry)
		case put == nil:
			n.Content = append(n.Content[:i:i], n.Content[i+1:]...)
		default:
			n.Content[i] = scalar(entry, put, text)
		}
		return true
	}
	walk = func(n *yaml.Node) bool {
		step, do := 1, inList
		switch n.Kind {
		case yaml.MappingNode:
			step, do = 2, inMap
		case yaml.DocumentNode:
			if root := n.Content[0]; isPair && strings.HasPrefix(p.Message, "missing") &&
				isAt(root) {
				root.Content = append(root.Content, put.Content...)
				return true
			}
			return walk(n.Content[0])
		}
		for i := 0; i < len(n.Content); i += step {
			if do(n, i) {
				return true
			}
		}
		return false
	}
	return walk(root)
}

// ofFile matches messages about the content of a file that stands at their place.
var ofFile = regexp.MustCompile(`^(/|addons/|[A-Z]\w+( \S+)?: )`)

// fitsNoScalar reports whether a map or a list stands at a problem's place, and no key.
func fitsNoScalar(root *yaml.Node, p config.Problem) bool {
	found := false
	var walk func(n *yaml.Node, isKey bool)
	walk = func(n *yaml.Node, isKey bool) {
		begins := n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 // with its first key
		if n.Line == p.Line && n.Column == p.Column && !isKey && !begins {
			found = found || n.Kind != yaml.ScalarNode
		}
		for i, c := range n.Content {
			walk(c, n.Kind == yaml.MappingNode && i%2 == 0)
		}
	}
	walk(root.Content[0], false)
	return found && !strings.HasPrefix(p.Message, "missing")
}

// index matches the places of entries in lists, which a removal changes.
var index = regexp.MustCompile(`\[[0-9]+\]`)

// problemsOf returns the problems of an error by their text without places, and how many there are.
func problemsOf(err error) map[string][]config.Problem {
	found := map[string][]config.Problem{}
	var problems config.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			key := index.ReplaceAllString(p.Path+": "+p.Message, "[]")
			found[key] = append(found[key], p)
		}
	} else if err != nil {
		for line := range strings.Lines(err.Error()) {
			found[line] = append(found[line], config.Problem{})
		}
	}
	return found
}

// natural matches what an example brings that is no value of this cluster: a file that is not
// there, a name that another entry has, a role of which there are too few; and what a document of
// another platform, or the text around a mark of YAML, was not asked before.
var natural = regexp.MustCompile(`there is no such file beside|is already encryptedResources|` +
	`^has no control plane|^the document of .* takes 16384|^aliases are not allowed|` +
	`leaves out Node|has no \*, so that`)

// isHidden reports whether a problem may come to light with a remedy: it is below the field that
// could not be read, in a file that was not read, or natural.
func isHidden(found, mended config.Problem) bool {
	return found.File != mended.File || strings.HasPrefix(found.Path, mended.Path+".") ||
		strings.HasPrefix(found.Path, mended.Path+"[") || natural.MatchString(found.Message)
}

// TestRemedies does what the messages of the mistakes say, one message at a time: the problem is
// gone, and no other has come.
func TestRemedies(t *testing.T) {
	t.Parallel()
	correct, err := os.ReadFile(filepath.Join(mistakes, "cluster.yaml"))
	require.NoError(t, err)
	tables, err := filepath.Glob(filepath.Join(mistakes, "*.txt"))
	require.NoError(t, err)
	applied, others := 0, map[string]bool{}
	for _, path := range append(tables, brought) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		_, rows := readMistakes(string(text))
		for _, row := range rows {
			wrong := row.apply(t, string(correct))
			_, err := validateText([]byte(wrong), mistakes)
			before := problemsOf(err)
			for key, all := range before {
				p := all[0]
				say, ok := remedy(p.Message)
				var root yaml.Node
				if !ok || p.File != "cluster.yaml" || ofFile.MatchString(p.Message) ||
					yaml.Unmarshal([]byte(wrong), &root) != nil || !mend(&root, p, say) {
					others[p.Error()] = true
					continue
				}
				applied++
				mended, err := yaml.Marshal(&root)
				require.NoError(t, err)
				_, err = validateText(mended, mistakes)
				after := problemsOf(err)
				if len(after[key]) >= len(all) {
					t.Errorf("%s: %s\nremedy %q: the problem stays", row.name, p.Error(), say)
				}
				for other, found := range after {
					if len(before[other]) == 0 && !isHidden(found[0], p) {
						t.Errorf("%s: %s\nremedy %q brings: %s", row.name, p.Error(), say,
							found[0].Error())
					}
				}
			}
		}
	}
	t.Logf("%d remedies were applied; %d messages say it in another way", applied, len(others))
	require.Greater(t, applied, 100)
}

package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// example returns the text of all .tf files of an example.
func example(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(terraformExamples, folder, "*.tf"))
	require.NoError(t, err)
	require.NotEmpty(t, files, folder)
	var b strings.Builder
	for _, file := range files {
		b.WriteString(read(t, file))
	}
	return b.String()
}

// argument is a line of a declaration that sets an argument or opens a block.
type argument struct {
	of   string // the resource, data.SOURCE or provider.NAME, and the blocks in it
	name string
}

var (
	declared = regexp.MustCompile(`^(resource|data|provider) "([a-z0-9_]+)"(?: "([a-z0-9_]+)")? \{`)
	setting  = regexp.MustCompile(`^( +)([a-z0-9_]+) +(=|\{)`)
)

// arguments returns the arguments of all declarations of an example that terraform fmt has
// formatted: what belongs to a block stands two blanks to the right of it. The lines of a value,
// such as those of a map, stand there as well and are left out.
func arguments(text string) (list []argument) {
	var blocks []string // of the declaration, the outermost first
	inValue := ""       // the indent of a value that goes on on the next lines
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		switch m, top := setting.FindStringSubmatch(line), declared.FindStringSubmatch(line); {
		case top != nil && top[1] == "resource":
			blocks = []string{top[2]}
		case top != nil:
			blocks = []string{top[1] + "." + top[2]}
		case line == "" || blocks == nil:
		case indent == "":
			blocks = nil
		case inValue != "":
			if indent == inValue && strings.ContainsAny(line[len(indent):][:1], "]})") {
				inValue = ""
			}
		case m != nil && len(m[1])/2 <= len(blocks):
			blocks = blocks[:len(m[1])/2]
			list = append(list, argument{strings.Join(blocks, "/"), m[2]})
			if m[3] == "{" && !strings.HasSuffix(line, "}") {
				blocks = append(blocks, m[2])
			} else if regexp.MustCompile(`[\[{(]$`).MatchString(line) {
				inValue = indent
			}
		}
	}
	return list
}

// TestTerraformArguments holds the two examples that the walks use to the providers' documentation,
// as testdata/terraform/arguments has it: they give no argument that a resource does not have, and
// all that it requires. The providers themselves would say so, but cannot be had without a network.
func TestTerraformArguments(t *testing.T) {
	t.Parallel()
	known, required := map[argument]bool{}, map[string][]string{}
	for line := range strings.Lines(read(t, "../../testdata/terraform/arguments")) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		for _, word := range words[1:] {
			name, needed := strings.CutSuffix(word, "*")
			known[argument{words[0], name}] = true
			if needed {
				required[words[0]] = append(required[words[0]], name)
			}
		}
	}
	for _, meta := range []string{"for_each", "depends_on", "lifecycle"} {
		for a := range known {
			known[argument{a.of, meta}] = !strings.Contains(a.of, "/")
		}
	}
	used := map[string]bool{}
	for _, folder := range []string{"aws", "hetzner"} {
		text := example(t, folder)
		for _, a := range arguments(text) {
			used[strings.Split(a.of, "/")[0]] = true
			if !strings.HasSuffix(a.of, "/lifecycle") &&
				!strings.HasSuffix(a.of, "/lifecycle/precondition") {
				require.True(t, known[a], "%s: %s has no argument %s", folder, a.of, a.name)
			}
		}
		requireAll(t, text, required)
	}
	for of := range required {
		require.True(t, used[strings.Split(of, "/")[0]], "no example has %s; take it away", of)
	}
}

// requireAll requires that each declaration and each block of it has the arguments that it needs.
func requireAll(t *testing.T, text string, required map[string][]string) {
	t.Helper()
	for _, declaration := range regexp.MustCompile(`(?ms)^\w.*?^\}`).FindAllString(text, -1) {
		found := map[string]string{} // the names in each block, with blanks around them
		for _, a := range arguments(declaration) {
			found[a.of] += " " + a.name + " "
			inner := a.of + "/" + a.name
			if required[inner] != nil {
				found[inner] += ""
			}
		}
		for of, names := range found {
			for _, name := range required[of] {
				require.Contains(t, names, " "+name+" ", "%s needs %s:\n%s", of, name, declaration)
			}
		}
	}
}

// TestTerraformReferences: what the examples refer to is declared, and every variable and every
// local value is used.
func TestTerraformReferences(t *testing.T) {
	t.Parallel()
	resources := regexp.MustCompile(`(?m)^(resource|data) "(\w+)" "(\w+)"`)
	referred := regexp.MustCompile(`\b(data\.)?((?:aws|hcloud|minio)_\w+)\.(\w+)`)
	locals := regexp.MustCompile(`(?ms)^locals \{.*?^\}`)
	variable := regexp.MustCompile(`(?m)^variable "(\w+)"`)
	local := regexp.MustCompile(`(?m)^  (\w+) +=`)
	for _, folder := range []string{"aws", "hetzner"} {
		text := regexp.MustCompile(`(?m)(^| )#.*$`).ReplaceAllString(example(t, folder), "")
		known := map[string]bool{}
		for _, m := range resources.FindAllStringSubmatch(text, -1) {
			known[strings.TrimPrefix(m[1], "resource")+m[2]+"."+m[3]] = true
		}
		for _, m := range referred.FindAllStringSubmatch(text, -1) {
			name := strings.TrimSuffix(m[1], ".") + m[2] + "." + m[3]
			require.True(t, known[name], "%s: %s is not declared", folder, m[0])
		}
		names := map[string]bool{}
		for _, m := range variable.FindAllStringSubmatch(text, -1) {
			names["var."+m[1]] = true
		}
		for _, block := range locals.FindAllString(text, -1) {
			for _, m := range local.FindAllStringSubmatch(block, -1) {
				names["local."+m[1]] = true
			}
		}
		for _, m := range regexp.MustCompile(`\b(?:var|local)\.\w+`).FindAllString(text, -1) {
			_, ok := names[m]
			require.True(t, ok, "%s: %s is not declared", folder, m)
			names[m] = false
		}
		for name, unused := range names {
			require.False(t, unused, "%s: nothing uses %s", folder, name)
		}
	}
}

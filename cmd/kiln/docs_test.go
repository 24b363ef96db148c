package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/cmd/kiln/boot/media"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/fleet/rollout"
)

// TestExamples: the examples for CI and pre-commit are YAML, and the commands in them are command
// lines of this program.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/examples/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 2)
	called := 0
	for _, file := range append(files, "../../.pre-commit-hooks.yaml") {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var whole any
		require.NoError(t, yaml.UnmarshalStrict(data, &whole), file)
		for _, command := range commands(whole) {
			called++
			requireCommand(t, command)
		}
	}
	require.Equal(t, 4, called)
}

// TestFirstExample: the example that docs/first-cluster.md names is valid.
func TestFirstExample(t *testing.T) {
	t.Parallel()
	const example = "../../docs/examples/first/cluster.yaml"
	require.Equal(t, exitDone, run([]string{"validate", "-c", example}, nil,
		io.Discard, io.Discard, false))
}

// commands returns every string that calls kiln, with the arguments of a pre-commit hook.
func commands(v any) (out []string) {
	switch v := v.(type) {
	case map[string]any:
		if entry, ok := v["entry"].(string); ok {
			for _, arg := range v["args"].([]any) {
				entry += " " + arg.(string)
			}
			return []string{entry}
		}
		for _, e := range v {
			out = append(out, commands(e)...)
		}
	case []any:
		for _, e := range v {
			out = append(out, commands(e)...)
		}
	case string:
		if strings.HasPrefix(v, "kiln ") && strings.Contains(v, "--") {
			out = append(out, v)
		}
	}
	return out
}

// requireCommand requires that a command line has verbs and flags of the program. It may fail only
// because files are missing.
func requireCommand(t *testing.T, command string) {
	t.Helper()
	words := strings.Fields(command)
	require.Equal(t, "kiln", words[0])
	for i, word := range words {
		if word == "cluster.yaml" {
			words[i] = filepath.Join(t.TempDir(), word)
		}
	}
	require.Equal(t, exitWrong, run(words[1:], nil, io.Discard, io.Discard, false), command)
}

// TestChangesDoc: docs/changes.md shows the steps that the program makes, with long lines folded,
// and names every refusal.
func TestChangesDoc(t *testing.T) {
	t.Parallel()
	doc := read(t, "../../docs/changes.md")
	plan := read(t, "../../testdata/changes/upgrade/plan.txt")
	require.Contains(t, wordsOf(doc), wordsOf(plan))
	for line := range strings.Lines(plan) {
		if shown := "    " + line; utf8.RuneCountInString(shown) <= 100 && line != "\n" {
			require.Contains(t, doc, shown, "each step of the program has its own line")
		}
	}
	_, table, _ := strings.Cut(doc, "\n## What is refused\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var named []string
	first := regexp.MustCompile("(?m)^\\| (`.*?`) \\|") // cells
	for _, row := range first.FindAllStringSubmatch(table, -1) {
		named = append(named, strings.Split(strings.Trim(row[1], "`"), "`, `")...)
	}
	require.ElementsMatch(t, rollout.Refusals(), named)
}

// TestKubeadmDoc: each field of cluster.yaml that docs/kubeadm.md puts beside one of kubeadm's
// exists.
func TestKubeadmDoc(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(read(t, "../../docs/kubeadm.md"), "## Fields of the configuration")
	table, _, _ = strings.Cut(table, "\n## ")
	fields := 0
	right := regexp.MustCompile(`(?m)^\|.*\| (.*) \|$`)
	name := regexp.MustCompile("`([A-Za-z.]+)`")
	for _, row := range right.FindAllStringSubmatch(table, -1) {
		for _, m := range name.FindAllStringSubmatch(row[1], -1) {
			if m[1] == "cluster.yaml" {
				continue
			}
			_, ok := config.Field(m[1])
			require.True(t, ok, m[1])
			fields++
		}
	}
	require.Greater(t, fields, 20)
}

// TestPlatformsDoc holds the table of docs/platforms.md to the table in Go.
func TestPlatformsDoc(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, p := range target.Platforms {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s | %s | %s |\n", p.Name, limit(&p),
			p.Counted, p.Ignition, p.CloudInit, p.Exposure(), routes(p.PodRoutes), p.Trap, p.Source)
	}
	const path = "../../docs/platforms.md"
	page := read(t, path)
	rows := strings.Index(page, "|---|\n") + len("|---|\n")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(page[:rows]+b.String()), 0o644))
		return
	}
	require.Equal(t, b.String(), page[rows:], "make golden rewrites it")
}

// routes returns what docs/platforms.md says of packets that carry addresses of pods.
func routes(r *target.PodRoutes) string {
	switch {
	case r == nil:
		return ""
	case r.Never:
		return "does not work: " + r.Text + " (" + r.Source + ")"
	}
	return "with " + r.Text + " (" + r.Source + ")"
}

// TestMediaDocs: docs/netboot.md names every system and flag, and docs/iso.md every image.
func TestMediaDocs(t *testing.T) {
	t.Parallel()
	page := read(t, "../../docs/netboot.md")
	for _, name := range media.Systems() {
		require.Contains(t, page, "`"+name+"`")
	}
	flags := netbootCommand().Flags().FlagUsages()
	for _, flag := range regexp.MustCompile(`(?m)^ {6}--[a-z-]+`).FindAllString(flags, -1) {
		require.Contains(t, page, strings.TrimSpace(flag))
	}
	page = read(t, "../../docs/iso.md")
	for _, label := range []string{"cidata", "config-2", "ignition"} {
		require.Contains(t, page, "| `"+label+"` |")
	}
}

var update = flag.Bool("update", false, "rewrite what is generated in docs/")

// TestThreatModel: every test that the threat model in docs/security.md names exists.
func TestThreatModel(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/security.md")
	require.NoError(t, err)
	tests := map[string]bool{}
	require.NoError(t, filepath.WalkDir("../..", func(path string, e os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).
			FindAllStringSubmatch(string(text), -1) {
			tests[m[1]] = true
		}
		return err
	}))
	named := regexp.MustCompile("`(Test[A-Za-z]+|[a-z-]+\\.txtar)`").
		FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(named), 20)
	for _, m := range named {
		if script, ok := strings.CutSuffix(m[1], ".txtar"); ok {
			require.FileExists(t, "../../testdata/script/"+script+".txtar")
			continue
		}
		require.True(t, tests[m[1]], "%s is no test", m[1])
	}
}

// TestScopeDoc holds the sentences of docs/scope.md about connections to the table of verbs.
func TestScopeDoc(t *testing.T) {
	t.Parallel()
	const path = "../../docs/scope.md"
	var connect, logIn []string
	var visit func(verb *cobra.Command)
	visit = func(verb *cobra.Command) {
		r := reaches[strings.TrimPrefix(verb.CommandPath(), "kiln ")]
		if r.network != "" {
			connect = append(connect, "`"+verb.CommandPath()+"`")
		}
		if strings.Contains(r.network, "ssh") {
			logIn = append(logIn, "`"+verb.CommandPath()+"`")
		}
		for _, below := range verb.Commands() {
			visit(below)
		}
	}
	visit(root())
	page := read(t, path)
	for _, sentence := range []struct {
		begins, ends string
		verbs        []string
	}{
		{"Of all verbs only ", " open a connection.", connect},
		{"Only ", " log in to a machine", logIn},
	} {
		blanks := strings.NewReplacer(" ", `\s+`, ".", `\.`)
		pattern := regexp.MustCompile(blanks.Replace(sentence.begins) + "([`a-z, \n]+?)" +
			blanks.Replace(sentence.ends))
		found := pattern.FindStringSubmatch(page)
		require.NotNil(t, found, pattern)
		last := len(sentence.verbs) - 1
		want := strings.Join(sentence.verbs[:last], ", ") + " and " + sentence.verbs[last]
		require.Equal(t, want, strings.Join(strings.Fields(found[1]), " "),
			"write the verbs of cmd/kiln/reach.go into docs/scope.md")
	}
}

package render_test

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/test/need"
)

func unseen(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }

var (
	unitLine = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*)=`)
	fileLine = regexp.MustCompile(
		`^(dir|[0-9a-f]{8}) (0[0-7]{3}) (-|[a-z0-9_-]+:[a-z0-9_-]+) (/.*)$`)
)

// inert holds each file that is read by lines, columns or keys to have those that kiln wrote.
func inert(t *testing.T, name string, n, base *node.Node) {
	own := map[string]*node.File{}
	for i := range base.Files {
		own[base.Files[i].Path] = &base.Files[i]
	}
	for i := range n.Files {
		f := &n.Files[i]
		text := string(f.Content)
		require.Equal(t, path.Clean(f.Path), f.Path, name)
		require.NotContains(t, f.Path, `\`,
			"%s: sha256sum prints such a name in another form", name)
		switch {
		case f.Path == "/etc/kiln/checks":
			for line := range strings.Lines(text) {
				require.Equal(t, 3, strings.Count(line, "|"),
					"%s: a check of another number of columns: %q", name, line)
				require.False(t, strings.ContainsFunc(line, unseen), "%s: %q", name, line)
			}
		case f.Path == "/etc/kiln/files":
			manifestReads(t, name, n, text)
		case f.Why == "from cluster.yaml": // its text is the user's own
		case strings.HasPrefix(f.Path, "/etc/systemd/system/"):
			if was := own[f.Path]; was != nil {
				require.Subset(t, unitKeys(t, name, string(was.Content)), unitKeys(t, name, text),
					"%s: %s", name, f.Path)
			}
		case strings.HasSuffix(f.Path, ".yaml") ||
			strings.HasSuffix(f.Path, ".conf") && strings.HasPrefix(f.Path, "/etc/kubernetes/"):
			for _, doc := range strings.Split(text, "\n---\n") {
				var any map[string]any
				require.NoError(t, yaml.UnmarshalStrict([]byte(doc), &any), "%s: %s", name, f.Path)
			}
		case strings.HasPrefix(f.Path, "/etc/kiln/"):
			require.False(t, strings.ContainsFunc(text, unseen), "%s: %s", name, f.Path)
		}
	}
}

// manifestReads reads the list of files as the hook does, and compares it with the files.
func manifestReads(t *testing.T, name string, n *node.Node, text string) {
	var want, got []string
	for _, d := range n.Dirs {
		want = append(want, d.Path)
	}
	for _, f := range n.Files {
		if f.Path != "/etc/kiln/files" {
			want = append(want, f.Path)
		}
	}
	for _, l := range n.Links {
		want = append(want, l.Path)
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && !endLine.MatchString(lines.Text()) {
		line := lines.Text()
		if line == "none - - "+plan.KubeletConf || line == "none - - "+plan.KubeletCurrent {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "link "); ok {
			words := strings.Split(rest, " ")
			require.GreaterOrEqual(t, len(words), 3, "%s: %q", name, line)
			got = append(got, strings.Join(words[2:], " "))
			continue
		}
		m := fileLine.FindStringSubmatch(line)
		require.NotNil(t, m, "%s: a line that the hook reads otherwise: %q", name, line)
		got = append(got, strings.Trim(m[4], " \t"))
	}
	require.Regexp(t, endLine, lines.Text(), name)
	require.False(t, lines.Scan(), "%s: lines after the end", name)
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got, name)
}

// endLine is the last line of the list: the digest of the review twin, and states of roots.
var endLine = regexp.MustCompile(`^end [0-9a-f]{64}( [a-z-]+: g[0-9][a-zA-Z0-9 ,:;-]*)?$`)

// unitKeys reads a unit as systemd does: sections, and the keys in them.
func unitKeys(t *testing.T, name, text string) (keys []string) {
	section, continued := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		was := continued
		continued = strings.HasSuffix(line, `\`)
		switch {
		case was || line == "" || line[0] == '#':
		case line[0] == '[':
			section = line
		default:
			m := unitLine.FindStringSubmatch(line)
			require.NotNil(t, m, "%s: a line of a unit: %q", name, line)
			keys = append(keys, section+m[1])
		}
	}
	return keys
}

// shellRun is one run of a shell over the data of many hooks. Starting a thousand shells would take
// longer than the rest of the test.
type shellRun struct {
	dir     string
	scripts map[string]string // names for messages, by the text
}

func (s *shellRun) add(name, text string) { s.scripts[text] = name }

// run reads each text as the hook does, in each shell.
func (s *shellRun) run(t *testing.T) {
	var all strings.Builder
	names := map[string]string{}
	for i, text := range slices.Sorted(maps.Keys(s.scripts)) {
		file := fmt.Sprintf("data-%d", i)
		names[file] = s.scripts[text]
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, file), []byte(text), 0o600))
		fmt.Fprintf(&all, "(set -euf; . ./%[1]s) || echo %[1]s ends with an error\n"+
			"[ ! -e MARK ] || { echo %[1]s left a mark; rm MARK; }\n", file)
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "all"), []byte(all.String()), 0o600))
	for _, shell := range need.Usable(t) {
		command := append(need.Words(shell), "./all")
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = s.dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		for line := range strings.Lines(string(out)) {
			file, what, _ := strings.Cut(strings.TrimSpace(line), " ")
			require.Fail(t, shell, "%s %s", names[file], what)
		}
		left, err := os.ReadDir(s.dir)
		require.NoError(t, err)
		require.Len(t, left, len(names)+1, "the data of a hook made files")
	}
}

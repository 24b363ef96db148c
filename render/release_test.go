package render_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/twins"
)

// lastRelease lists the files of the machines of two golden clusters as the last release rendered
// them, with their hashes. A release rewrites it with -update, and nothing else does.
const lastRelease = "../testdata/last-release"

// TestLastRelease: CHANGELOG.md names, under "Unreleased", each file of a machine that is another
// one than the last release rendered, as `/etc/kiln/boot` or with an asterisk in its last part.
func TestLastRelease(t *testing.T) {
	t.Parallel()
	now := machineSums(t, "baseline", "ha")
	if *update {
		var b strings.Builder
		for _, file := range slices.Sorted(maps.Keys(now)) {
			fmt.Fprintf(&b, "%s  %s\n", now[file], file)
		}
		require.NoError(t, os.WriteFile(lastRelease, []byte(b.String()), 0o644))
		return
	}
	record, err := os.ReadFile(lastRelease)
	require.NoError(t, err)
	changelog, err := os.ReadFile("../CHANGELOG.md")
	require.NoError(t, err)
	for _, missing := range unexplained(string(record), string(changelog), now) {
		t.Errorf("CHANGELOG.md: name `%s` under \"Unreleased\": what is new about it?", missing)
	}
}

// machineSums returns the hashes of all files of the machines of golden clusters. Their names are
// the case, the machine or what several share, and the path on the machine.
func machineSums(t *testing.T, cases ...string) map[string]string {
	t.Helper()
	number := regexp.MustCompile(`^[0-9]{3}-`) // the order of objects, which a new one moves
	sums := map[string]string{}
	for _, name := range cases {
		tree := os.DirFS(twins.Expand(t, clusters, name))
		err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == "INDEX" {
				return err
			}
			data, err := fs.ReadFile(tree, p)
			p = path.Join(name, path.Dir(p), number.ReplaceAllString(path.Base(p), ""))
			sums[p] = fmt.Sprintf("%x", sha256.Sum256(data))
			return err
		})
		require.NoError(t, err)
	}
	require.Greater(t, len(sums), 100, "files")
	return sums
}

// unexplained returns the paths on machines that differ from the record of the last release, and
// that the part "Unreleased" of the changelog does not name.
func unexplained(record, changelog string, now map[string]string) []string {
	before := map[string]string{}
	for line := range strings.Lines(record) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		before[file] = sum
	}
	_, unreleased, _ := strings.Cut(changelog, "\n## Unreleased\n")
	unreleased, _, _ = strings.Cut(unreleased, "\n## ")
	var named []string
	for _, m := range regexp.MustCompile("`(/[^`]*)`").FindAllStringSubmatch(unreleased, -1) {
		named = append(named, m[1])
	}
	var out []string
	for _, file := range slices.Concat(slices.Collect(maps.Keys(now)),
		slices.Collect(maps.Keys(before))) {
		_, rest, _ := strings.Cut(file, "/")
		rest = strings.TrimPrefix(rest, "shared/")
		_, onMachine, _ := strings.Cut(rest, "/")
		onMachine = "/" + onMachine
		if before[file] == now[file] || slices.ContainsFunc(named, func(pattern string) bool {
			ok, err := path.Match(pattern, onMachine)
			return ok && err == nil
		}) {
			continue
		}
		out = append(out, onMachine)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

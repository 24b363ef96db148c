package render_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
)

// mistakes is the folder of the tables of mistakes: a correct cluster.yaml, the files that it may
// name, and a table of mistakes in each *.txt.
const mistakes = "../testdata/mistakes"

// brought is a table beside them: what people bring from elsewhere, right and wrong, with warnings.
const brought = "../testdata/brought.txt"

// mistake is a row of a table: its name, the lines of cluster.yaml that it takes out and puts in,
// and every line that kiln validate prints about it.
//
//	== the role master
//	-  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
//	+  - {name: cp-1, role: master, addresses: [10.0.0.11]}
//	cluster.yaml:16:24: nodes[0].role: "master" is called control-plane here; ...
type mistake struct {
	name string
	edit []string // lines that begin with - or +
	want string
}

// readMistakes reads a table. intro is what stands above its first row.
func readMistakes(text string) (intro string, rows []mistake) {
	parts := strings.Split(text, "\n== ")
	for _, part := range parts[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		row := mistake{name: name}
		for line := range strings.Lines(rest) {
			line = strings.TrimSuffix(line, "\n")
			switch {
			case line == "":
			case line[0] == '-' || line[0] == '+':
				row.edit = append(row.edit, line)
			default:
				row.want += line + "\n"
			}
		}
		rows = append(rows, row)
	}
	return parts[0], rows
}

// String returns the row as its table has it.
func (m mistake) String() string {
	return fmt.Sprintf("\n== %s\n%s\n%s", m.name, strings.Join(m.edit, "\n"), m.want)
}

// apply makes the mistake in a configuration. A line to take out must be there. The lines to put in
// stand in place of the last one that was taken out.
func (m mistake) apply(t *testing.T, text string) string {
	t.Helper()
	lines, at := strings.Split(text, "\n"), 0
	for _, edit := range m.edit {
		line := edit[1:]
		if edit[0] == '+' {
			lines, at = slices.Insert(lines, at, line), at+1
			continue
		}
		at = slices.Index(lines, line)
		require.GreaterOrEqual(t, at, 0, "%s: %q is not in cluster.yaml", m.name, line)
		lines = slices.Delete(lines, at, at+1)
	}
	return strings.Join(lines, "\n")
}

// validateText returns what is wrong with a configuration, as kiln validate finds it, and its
// warnings if nothing is.
func validateText(text []byte, dir string) (config.Problems, error) {
	c, err := config.Parse("cluster.yaml", text, os.DirFS(dir))
	if err != nil {
		return nil, err
	}
	b, err := pki.New(pki.Options{
		Name: c.Metadata.Name, Now: time.Now(), Algorithm: private.P256,
		CALifetime:      time.Duration(c.Spec.Certificates.CALifetime),
		FormationWindow: time.Duration(c.Spec.Boot.FormationWindow),
	})
	if err != nil {
		return nil, err
	}
	r, err := render.New(c, b)
	if err != nil {
		return nil, err
	}
	err = r.Try(nil)
	return r.Warnings(), err
}

// TestMistakes makes each mistake of the tables and holds it to its messages: all of them, so that
// none follows from another.
func TestMistakes(t *testing.T) {
	t.Parallel()
	correct, err := os.ReadFile(filepath.Join(mistakes, "cluster.yaml"))
	require.NoError(t, err)
	warnings, err := validateText(correct, mistakes)
	require.NoError(t, err)
	require.Empty(t, warnings)
	tables, err := filepath.Glob(filepath.Join(mistakes, "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, tables)
	tables = append(tables, brought)
	for _, path := range tables {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			var now bytes.Buffer
			intro, rows := readMistakes(string(text))
			now.WriteString(intro)
			var names []string
			for _, row := range rows {
				require.NotContains(t, names, row.name)
				names = append(names, row.name)
				warnings, err := validateText([]byte(row.apply(t, string(correct))), mistakes)
				row.want = "valid\n"
				if err != nil {
					row.want = err.Error() + "\n"
				}
				for _, w := range warnings {
					if err == nil {
						row.want += "warning " + w.ID + ": " + w.Error() + "\n"
					}
				}
				now.WriteString(row.String())
			}
			if *update {
				require.NoError(t, os.WriteFile(path, now.Bytes(), 0o644))
				return
			}
			require.Equal(t, string(text), now.String(), "make golden rewrites it")
		})
	}
}

package render_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/compress"
	"kiln.dev/kiln/render/plan"
)

// hookFile holds the most bytes that the hook may have on each kind of machine. Its figures only
// become lower: neither make golden nor -lower writes a higher one.
const hookFile = "../testdata/hook"

var lower = flag.Bool("lower", false,
	"write the figures of "+hookFile+" that have become lower, and those of new cases")

// hookRow is the hook of one kind of machine of a golden case, or a module of it: that of its
// largest machine.
type hookRow struct {
	key             string // case, role and system, and /NAME of a module
	machine         string
	raw, compressed int
}

func (r hookRow) line() string {
	return fmt.Sprintf("%s %d %d", r.key, r.raw, r.compressed)
}

// modulesOf is the case whose hooks are counted by module, too.
const modulesOf = "balancer"

// noise is how many bytes more or fewer a text of the same length may have when it is compressed.
const noise = 8

// above reports whether the row has more bytes than another one.
func (r hookRow) above(o hookRow) bool {
	return r.raw > o.raw || r.compressed > o.compressed+noise
}

// TestHookBytes: the hook and its data, which are all files of /etc/kiln but the API objects, have
// exactly the bytes that hookFile says, for each role on each system, and so for each format. A
// higher figure fails. A lower one is written down in the same change, with -lower, so that nobody
// spends it later.
func TestHookBytes(t *testing.T) {
	t.Parallel()
	rows := map[string]hookRow{}
	for _, name := range cases(t) {
		r := load(t, name)
		for i, n := range nodes(t, name) {
			row := hookRow{
				key:     strings.Join([]string{name, n.Role, r.Plan.Machines[i].System.Name}, " "),
				machine: n.Name,
			}
			files := hookFiles(n)
			row.raw, row.compressed = hookBytes(files)
			if row.raw <= rows[row.key].raw {
				continue
			}
			rows[row.key] = row
			for _, f := range files {
				if name != modulesOf {
					break
				}
				module := hookRow{
					key: row.key + "/" + path.Base(f.Path), machine: n.Name,
				}
				module.raw, module.compressed = hookBytes([]node.File{f})
				rows[module.key] = module
			}
		}
	}
	require.Greater(t, len(rows), 60, "rows")
	limits := readHookFile(t)
	for _, row := range sortedRows(rows) {
		limit, known := limits[row.key]
		switch {
		case *lower && (!known || limit.above(row) && !row.above(limit)):
			limits[row.key] = row
		case !known:
			t.Errorf("%s has no line in %s; run go test ./render -run TestHookBytes -lower",
				row.key, hookFile)
		case row.above(limit):
			t.Errorf("%s (%s): the hook has %d bytes, %d compressed; at most %d and %d; "+
				"pay for what is new with something that goes", row.key, row.machine,
				row.raw, row.compressed, limit.raw, limit.compressed)
		case limit.above(row):
			t.Errorf("%s: the hook has become smaller, %d bytes, %d compressed, from %d and %d; "+
				"keep that: run go test ./render -run TestHookBytes -lower", row.key,
				row.raw, row.compressed, limit.raw, limit.compressed)
		}
	}
	for _, old := range sortedRows(limits) {
		if _, found := rows[old.key]; !found {
			if *lower {
				delete(limits, old.key)
				continue
			}
			t.Errorf("%s: %s has a line for it, and no such machine is rendered", hookFile, old.key)
		}
	}
	if *lower {
		writeHookFile(t, limits)
	}
}

// digest finds the SHA-256 of a file in the list of files.
var digest = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// hookFiles returns the files of /etc/kiln without API objects.
func hookFiles(n *node.Node) (files []node.File) {
	for _, f := range n.Files {
		if strings.HasPrefix(f.Path, plan.KilnDir+"/") &&
			!strings.HasPrefix(f.Path, plan.KilnDir+"/objects/") {
			files = append(files, f)
		}
	}
	return files
}

// hookBytes returns the bytes of files, and these bytes compressed together. A sum in the list of
// files counts as the sum of its number, so that another content of a file changes no figure.
func hookBytes(files []node.File) (raw, compressed int) {
	var all []byte
	for _, f := range files {
		all = append(all, f.Content...)
	}
	count := 0
	all = digest.ReplaceAllFunc(all, func([]byte) []byte {
		count++
		return fmt.Appendf(nil, "%x", sha256.Sum256([]byte(strconv.Itoa(count))))
	})
	return len(all), len(compress.Gzip(all))
}

func sortedRows(rows map[string]hookRow) []hookRow {
	out := make([]hookRow, 0, len(rows))
	for _, row := range rows {
		out = append(out, row)
	}
	slices.SortFunc(out, func(a, b hookRow) int { return cmp.Compare(a.key, b.key) })
	return out
}

func readHookFile(t *testing.T) map[string]hookRow {
	t.Helper()
	data, err := os.ReadFile(hookFile)
	require.NoError(t, err)
	rows := map[string]hookRow{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		require.Len(t, fields, 5, line)
		row := hookRow{key: strings.Join(fields[:3], " ")}
		row.raw, err = strconv.Atoi(fields[3])
		require.NoError(t, err, line)
		row.compressed, err = strconv.Atoi(fields[4])
		require.NoError(t, err, line)
		rows[row.key] = row
	}
	return rows
}

func writeHookFile(t *testing.T, rows map[string]hookRow) {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("# The most bytes of the hook, /etc/kiln without API objects: case, role, " +
		"system\n# and /module, bytes, compressed. go test ./render -run TestHookBytes -lower " +
		"lowers them;\n# nothing raises them.\n")
	for _, row := range sortedRows(rows) {
		out.WriteString(row.line() + "\n")
	}
	require.NoError(t, os.WriteFile(hookFile, out.Bytes(), 0o600))
}

package render_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render/cloudinit"
	"kiln/render/document"
	"kiln/render/ignition"
	"kiln/render/node"
	"kiln/render/target"
)

// Goldens of bytes, so that a change that costs some is seen in review: of documents on each platform, of what documents are made of, and of those that
// leave a part to be fetched.
const (
	sizesFile     = "../testdata/sizes"
	budgetFile    = "../testdata/budget"
	deliveredFile = "../testdata/delivered"
)

// slack is how far a size may be from the golden one: keys are random, and two releases of Go may compress a little differently.
const slack = 0.02

// carried is a document and what it must unpack to.
type carried struct {
	doc    []byte
	unpack func([]byte) (node.Node, error)
}

// carriedBy returns the documents of a machine on a platform, by format.
func carriedBy(t testing.TB, n *node.Node, p *target.Platform) map[string]carried {
	t.Helper()
	out := map[string]carried{}
	if len(n.CloudConfig) == 0 { // what only cloud-init can express
		doc, err := ignition.Pack(n, p.Limit)
		require.NoError(t, err)
		out["ignition"] = carried{doc, ignition.Unpack}
	}
	if len(n.Extra) == 0 { // what only Ignition can express
		doc, err := cloudinit.Pack(n, p.Limit, p.TextOnly)
		require.NoError(t, err)
		out["cloud-init"] = carried{doc, cloudinit.Unpack}
	}
	return out
}

// reading is cloud-init's own way from the bytes of a user-data to the text that its modules read: each file of a folder is replaced by it.
const reading = `
import os, sys
from cloudinit import helpers, user_data
for name in sorted(os.listdir(sys.argv[1])):
    path = os.path.join(sys.argv[1], name)
    with open(path, "rb") as f:
        message = user_data.UserDataProcessor(helpers.Paths({})).process(f.read())
    parts = [p for p in message.walk() if p.get_content_maintype() != "multipart"]
    assert len(parts) == 1 and parts[0].get_content_type() == "text/cloud-config", [p.get_content_type() for p in parts]
    with open(path, "wb") as f:
        f.write(parts[0].get_payload(decode=True))
`

// TestPlatforms: the first and the last machine of every case, as every platform carries them in both formats, are taken by Ignition's own parser
// and unpack to the same tree, cloud-init itself finds the same text in them, and they take as many bytes as they took.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	// Platforms that count alike carry alike.
	var platforms []*target.Platform
	for i := range target.Platforms {
		p := &target.Platforms[i]
		if !slices.ContainsFunc(platforms, func(o *target.Platform) bool { return o.Limit == p.Limit && o.TextOnly == p.TextOnly }) {
			platforms = append(platforms, p)
		}
	}
	header := []string{"case", "machine", "format"}
	for _, p := range platforms {
		header = append(header, p.Name)
	}

	dir, names := t.TempDir(), cases(t)
	texts, rows := sync.Map{}, make([][][]string, len(names))
	t.Run("cases", func(t *testing.T) {
		for at, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := load(t, name)
				for _, i := range slices.Compact([]int{0, r.Machines() - 1}) {
					n, err := r.Node(i)
					require.NoError(t, err)
					sizes := map[string][]string{}
					for _, p := range platforms {
						for format, c := range carriedBy(t, n, p) {
							got, err := c.unpack(c.doc)
							require.NoError(t, err)
							require.Equal(t, n.Delivered(), got, "%s as %s on %s", n.Name, format, p.Name)
							size := strconv.Itoa(len(c.doc))
							if p.Limit > 0 && len(c.doc) > p.Limit {
								size += "!"
							}
							sizes[format] = append(sizes[format], size)
							if format == "cloud-init" {
								path := filepath.Join(dir, name+" "+n.Name+" "+p.Name)
								require.NoError(t, os.WriteFile(path, c.doc, 0o600))
								plain, err := cloudinit.Pack(n, 0, false)
								require.NoError(t, err)
								texts.Store(path, plain)
							}
						}
					}
					for _, format := range []string{"ignition", "cloud-init"} {
						if len(sizes[format]) > 0 {
							rows[at] = append(rows[at], append([]string{name, n.Name, format}, sizes[format]...))
						}
					}
				}
			})
		}
	})
	t.Run("sizes", func(t *testing.T) {
		checkSizes(t, sizesFile, append([][]string{header}, slices.Concat(rows...)...),
			"Bytes of documents as each platform carries them, of those that count alike the first; !: over the limit, refused.")
	})
	t.Run("cloud-init reads", func(t *testing.T) {
		if _, err := exec.LookPath("cloud-init"); err != nil {
			t.Skip("cloud-init is not installed; what it reads is not checked")
		}
		out, err := exec.Command("/usr/bin/python3", "-c", reading, dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
		texts.Range(func(path, text any) bool {
			got, err := os.ReadFile(path.(string))
			require.NoError(t, err)
			require.Equal(t, string(text.([]byte)), string(got), filepath.Base(path.(string)))
			return true
		})
	})
}

// TestBudget: the parts of a document are most of it, less than it since they share text, and take what they took.
func TestBudget(t *testing.T) {
	t.Parallel()
	table := [][]string{{"case", "machine", "part", "files", "bytes"}}
	for _, name := range []string{"baseline", "ha"} {
		r := load(t, name)
		for _, i := range []int{0, r.Machines() - 1} {
			n, err := r.Node(i)
			require.NoError(t, err)
			m := &r.Plan.Machines[i]
			budget, err := document.Budget(m, n)
			require.NoError(t, err)
			sum, files := 0, 0
			for _, p := range budget {
				table = append(table, []string{name, n.Name, strings.ReplaceAll(p.Name, " ", "-"), strconv.Itoa(p.Files), strconv.Itoa(p.Bytes)})
				sum += p.Bytes
				files += p.Files
			}
			require.Len(t, n.Files, files)
			form := "cloud-init, compressed"
			if m.System.Format == target.Ignition {
				form = "Ignition, compressed"
			}
			whole := len(packed(t, n)[form])
			require.Less(t, sum, whole, "%s of %s", n.Name, name)
			require.Greater(t, float64(sum), 0.6*float64(whole), "%s of %s", n.Name, name)
		}
	}
	checkSizes(t, budgetFile, table, "Bytes that parts take of a machine's document, compressed as a whole.")
}

// TestDelivered holds what a document weighs that leaves a part of the machine to be fetched, and what is fetched, and lean documents to what EC2 takes.
func TestDelivered(t *testing.T) {
	t.Parallel()
	table := [][]string{{"case", "machine", "mode", "form", "document", "body"}}
	for _, name := range []string{"delivery-pointer", "delivery-split", "delivery-lean"} {
		r := load(t, name)
		for i := range r.Machines() {
			d, err := r.Document(i)
			require.NoError(t, err)
			if d.Entry.Body == nil {
				continue
			}
			table = append(table, []string{name, d.Entry.Node, d.Entry.Delivery, d.Files[0].Name, strconv.Itoa(d.Entry.Bytes), strconv.Itoa(d.Entry.Body.Bytes)})
			if d.Entry.Delivery == "lean" {
				require.LessOrEqual(t, d.Entry.Bytes, 16384, d.Entry.Node)
			}
		}
	}
	checkSizes(t, deliveredFile, table, "Bytes of documents that leave a part to be fetched, as their platforms carry them, and of that part, the body.")
}

// checkSizes compares the table with the golden one.
func checkSizes(t *testing.T, file string, table [][]string, title string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte("# "+title+"\n"+aligned(table)), 0o600))
	}
	text, err := os.ReadFile(file) // #nosec G304 -- a golden
	require.NoError(t, err)
	var golden [][]string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] != "#" {
			golden = append(golden, fields)
		}
	}
	require.Len(t, golden, len(table), "lines in %s; run make golden", file)
	for i, row := range table {
		require.Len(t, golden[i], len(row), "columns in %s; run make golden", file)
		for j, field := range row {
			was, err := strconv.ParseFloat(strings.TrimSuffix(golden[i][j], "!"), 64)
			if err != nil {
				require.Equal(t, golden[i][j], field)
				continue
			}
			is, err := strconv.ParseFloat(strings.TrimSuffix(field, "!"), 64)
			require.NoError(t, err)
			require.LessOrEqual(t, math.Abs(is-was), max(slack*was, 8), "%s, %s: %s bytes, and %s before; if that is meant, run make golden",
				strings.Join(row[:3], " "), table[0][j], field, golden[i][j])
		}
	}
}

// aligned writes a table in columns.
func aligned(table [][]string) string {
	widths := make([]int, len(table[0]))
	for _, row := range table {
		for i, field := range row {
			widths[i] = max(widths[i], len(field))
		}
	}
	out := ""
	for _, row := range table {
		line := ""
		for i, field := range row {
			line += fmt.Sprintf("%-*s  ", widths[i], field)
		}
		out += strings.TrimRight(line, " ") + "\n"
	}
	return out
}

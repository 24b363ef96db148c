package render_test

import (
	"bytes"
	"cmp"
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

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/pack/cloudinit"
	"kiln.dev/kiln/render/pack/document"
	"kiln.dev/kiln/render/pack/ignition"
	"kiln.dev/kiln/test/need"
)

// Goldens of bytes, so that a change that costs some is seen in review: of documents on each
// platform, of what documents are made of, and of those that leave a part to be fetched.
const (
	sizesFile     = "../testdata/sizes"
	budgetFile    = "../testdata/budget"
	deliveredFile = "../testdata/delivered"
)

// slack is the share by which a size may differ from the golden one: keys are random, and two
// releases of Go may compress a little differently.
const slack = 0.02

// A form is how documents are packed and unpacked.
type form struct {
	name   string
	pack   func(n *node.Node, p *target.Platform) ([]byte, error)
	unpack func([]byte) (node.Node, error)
	can    func(n *node.Node) bool // reports whether the format can express the machine
	text   bool                    // a platform that takes only text gets another document
}

var documentForms = []form{
	{
		name: "ignition",
		pack: func(n *node.Node, p *target.Platform) ([]byte, error) {
			return new(ignition.Packer).Pack(n, p.Limit)
		},
		unpack: new(ignition.Unpacker).Unpack,
		can:    func(n *node.Node) bool { return len(n.CloudConfig) == 0 },
	},
	{
		name: "cloud-init",
		pack: func(n *node.Node, p *target.Platform) ([]byte, error) {
			return new(cloudinit.Packer).Pack(n, p.Limit, p.TextOnly)
		},
		unpack: cloudinit.Unpack,
		can:    func(n *node.Node) bool { return len(n.Extra) == 0 },
		text:   true,
	},
}

// carried returns a machine's document for each platform. Pack makes ever shorter documents and
// takes the first one within the limit. So the document for a larger limit is also that for a
// smaller one, if it is within that limit. A document that was too long for a larger limit is the
// shortest of all. Packing takes long, so no document is packed twice; TestCarried packs for every
// platform.
func (f *form) carried(n *node.Node, platforms []*target.Platform) ([][]byte, error) {
	limit := func(i int) int { return cmp.Or(platforms[i].Limit, math.MaxInt) }
	text := func(i int) bool { return f.text && platforms[i].TextOnly }
	var order []int
	for i := range platforms {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(limit(j), limit(i)) })
	out := make([][]byte, len(platforms))
	last := map[bool]int{}
	for _, i := range order {
		before, ok := last[text(i)]
		last[text(i)] = i
		if ok && (len(out[before]) <= limit(i) || len(out[before]) > limit(before)) {
			out[i] = out[before]
			continue
		}
		var err error
		if out[i], err = f.pack(n, platforms[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unlike returns a platform of each kind: those that carry documents alike are one kind.
func unlike() (platforms []*target.Platform) {
	for i := range target.Platforms {
		p := &target.Platforms[i]
		like := func(o *target.Platform) bool {
			return o.Limit == p.Limit && o.TextOnly == p.TextOnly
		}
		if !slices.ContainsFunc(platforms, like) {
			platforms = append(platforms, p)
		}
	}
	return platforms
}

// TestCarried: a platform gets the document that Pack makes for it.
func TestCarried(t *testing.T) {
	t.Parallel()
	platforms := unlike()
	for _, n := range nodes(t, "baseline") {
		for i := range documentForms {
			f := &documentForms[i]
			docs, err := f.carried(n, platforms)
			require.NoError(t, err)
			for j, p := range platforms {
				want, err := f.pack(n, p)
				require.NoError(t, err)
				require.True(t, bytes.Equal(want, docs[j]),
					"%s of %s on %s", f.name, n.Name, p.Name)
			}
		}
	}
}

// reading is a program in Python. It replaces each user-data in a folder by the text that
// cloud-init's modules read, with cloud-init's own code. Many files hold the same YAML, which is
// read once.
const reading = `
import functools, os, sys
from cloudinit import helpers, user_data, util
util.load_yaml = functools.lru_cache(maxsize=None)(util.load_yaml)
for name in sorted(os.listdir(sys.argv[1])):
    path = os.path.join(sys.argv[1], name)
    with open(path, "rb") as f:
        message = user_data.UserDataProcessor(helpers.Paths({})).process(f.read())
    parts = [p for p in message.walk() if p.get_content_maintype() != "multipart"]
    types = [p.get_content_type() for p in parts]
    assert types == ["text/cloud-config"], types
    with open(path, "wb") as f:
        f.write(parts[0].get_payload(decode=True))
`

// TestPlatforms packs the first and the last machine of every case in both formats for every
// platform. Ignition's own parser accepts the documents, and they unpack to the same tree.
// cloud-init itself finds the same text in them. Their sizes are the golden ones.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	platforms := unlike()
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
				machines := nodes(t, name)
				ends := []*node.Node{machines[0], machines[len(machines)-1]}
				for _, n := range slices.Compact(ends) {
					for i := range documentForms {
						f := &documentForms[i]
						if !f.can(n) {
							continue
						}
						docs, err := f.carried(n, platforms)
						require.NoError(t, err)
						row := []string{name, n.Name, f.name}
						unpacked := map[string]bool{}
						for j, p := range platforms {
							size := strconv.Itoa(len(docs[j]))
							if p.Limit > 0 && len(docs[j]) > p.Limit {
								size += "!"
							}
							row = append(row, size)
							if unpacked[string(docs[j])] {
								continue
							}
							unpacked[string(docs[j])] = true
							got, err := f.unpack(docs[j])
							require.NoError(t, err)
							require.Equal(t, n.Delivered(), got,
								"%s as %s on %s", n.Name, f.name, p.Name)
							if f.name == "cloud-init" {
								path := filepath.Join(dir, name+" "+n.Name+" "+p.Name)
								require.NoError(t, os.WriteFile(path, docs[j], 0o600))
								texts.Store(path, packed(t, n)["cloud-init"])
							}
						}
						rows[at] = append(rows[at], row)
					}
				}
			})
		}
	})
	t.Run("sizes", func(t *testing.T) {
		checkSizes(t, sizesFile, append([][]string{header}, slices.Concat(rows...)...),
			"Bytes of documents as each platform carries them, "+
				"of those that count alike the first; !: over the limit, refused.")
	})
	t.Run("cloud-init reads", func(t *testing.T) {
		need.Program(t, "cloud-init")
		out, err := exec.Command(need.Python, "-c", reading, dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
		texts.Range(func(path, text any) bool {
			got, err := os.ReadFile(path.(string))
			require.NoError(t, err)
			require.Equal(t, string(text.([]byte)), string(got), filepath.Base(path.(string)))
			return true
		})
	})
}

// TestBudget: the parts of a document together are most of its size. They are less than all of it,
// because they share text. The size of each part is the golden one.
func TestBudget(t *testing.T) {
	t.Parallel()
	table := [][]string{{"case", "machine", "part", "files", "bytes"}}
	for _, name := range []string{"baseline", "ha"} {
		r, machines := load(t, name), nodes(t, name)
		for _, i := range []int{0, r.Machines() - 1} {
			n, m := machines[i], &r.Plan.Machines[i]
			budget, err := document.Budget(m, n)
			require.NoError(t, err)
			sum, files := 0, 0
			for _, p := range budget {
				part := strings.ReplaceAll(p.Name, " ", "-")
				table = append(table, []string{
					name, n.Name, part, strconv.Itoa(p.Files), strconv.Itoa(p.Bytes),
				})
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
	checkSizes(t, budgetFile, table,
		"Bytes that parts take of a machine's document, compressed as a whole.")
}

// TestDelivered holds the sizes of documents that leave a part to be fetched, and the sizes of
// these parts, to the golden ones, and lean documents to the limit of EC2.
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
			table = append(table, []string{
				name, d.Entry.Node, d.Entry.Delivery, d.Files[0].Name,
				strconv.Itoa(d.Entry.Bytes), strconv.Itoa(d.Entry.Body.Bytes),
			})
			if d.Entry.Delivery == "lean" {
				require.LessOrEqual(t, d.Entry.Bytes, 16384, d.Entry.Node)
			}
		}
	}
	checkSizes(t, deliveredFile, table,
		"Bytes of documents that leave a part to be fetched, as their platforms carry them, "+
			"and of that part, the body.")
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
			require.LessOrEqual(t, math.Abs(is-was), max(slack*was, 8),
				"%s, %s: %s bytes, and %s before; if that is meant, run make golden",
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

// announcedFile has what announcements cost.
const announcedFile = "../testdata/announced"

// announceCost is how many bytes the compressed document of a control plane and of a worker on EC2
// may have more if the machine announces. Ignition carries four thirds of it, and the secrets of a
// lean document stand alone, without the hook's text to share words with.
const announceCost = 290

// TestAnnounced holds what announcements add to compressed documents, of machines whole and lean,
// to the golden table and to the promise.
func TestAnnounced(t *testing.T) {
	t.Parallel()
	table := [][]string{{"case", "machine", "form", "without", "with", "more"}}
	for _, name := range []string{"baseline", "ha", "delivery-lean"} {
		c, b := inputs(t, name)
		for i := range c.Spec.Nodes {
			c.Spec.Nodes[i].Report.URL = "http://10.0.0.5:8080"
		}
		with, err := render.New(c, b)
		require.NoError(t, err)
		without := load(t, name)
		add := func(machine, form string, was, is int) {
			table = append(table, []string{
				name, machine, form, strconv.Itoa(was), strconv.Itoa(is), strconv.Itoa(is - was),
			})
		}
		for i := range with.Machines() {
			m := &with.Plan.Machines[i]
			if m.Settings.Delivery.Mode == "lean" {
				was, is := documentSize(t, without, i), documentSize(t, with, i)
				add(m.Name, "lean-"+string(m.System.Format), was, is)
				continue
			}
			n, err := with.Node(i)
			require.NoError(t, err)
			before, after := packed(t, nodes(t, name)[i]), packed(t, n)
			for _, form := range []string{"Ignition", "cloud-init"} {
				add(m.Name, form, len(before[form+", compressed"]), len(after[form+", compressed"]))
			}
		}
	}
	checkSizes(t, announcedFile, table,
		"Bytes of compressed documents of machines that announce the state of their first boot.")
	for _, row := range table[1:] {
		more, err := strconv.Atoi(row[5])
		require.NoError(t, err)
		if row[0] == "baseline" && row[2] == "cloud-init" {
			require.LessOrEqual(t, more, announceCost, "%s", row)
		}
	}
}

func documentSize(t *testing.T, r *render.Cluster, i int) int {
	t.Helper()
	d, err := r.Document(i)
	require.NoError(t, err)
	return d.Entry.Bytes
}

// TestSizes: what the user brought is told from kiln's own files, add-ons too, and no secret is
// among it. Documents with nothing of the user have no share of his.
func TestSizes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ has, lacks []string }{
		"extras": {
			has:   []string{"machines.files[0]", "machines.units[0]"},
			lacks: []string{"machines.files[1]", "addons[0].path"}, // a secret
		},
		"addons": {
			has:   []string{"addons[0].path", "addons[1].path"},
			lacks: []string{"addons[2].path"}, // a Secret
		},
		"ha": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := load(t, name)
			done := 0
			sizes, err := r.Sizes(func(n int) { done = n })
			require.NoError(t, err)
			require.Len(t, sizes, r.Machines())
			require.Equal(t, r.Machines(), done)
			var fields []string
			for _, f := range sizes[0].Fields {
				require.Positive(t, f.Bytes)
				fields = append(fields, f.Field)
			}
			require.Subset(t, fields, want.has)
			for _, field := range want.lacks {
				require.NotContains(t, fields, field)
			}
			require.Equal(t, len(want.has) > 0, sizes[0].Own > 0)
			require.Less(t, sizes[0].Own, sizes[0].Entry.Bytes/2)
		})
	}
	public, err := render.NewPublic(load(t, "ha").Plan.Config, load(t, "ha").Public)
	require.NoError(t, err)
	none, err := public.Sizes(nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

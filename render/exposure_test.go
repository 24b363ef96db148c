package render_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/document"
	"kiln.dev/kiln/render/secret"
)

// worthIn returns the greatest worth of the secrets of n that lie in part, which is a document or a
// body that was read back.
func worthIn(t *testing.T, n *node.Node, part *node.Node) (most secret.Worth) {
	t.Helper()
	for _, f := range n.Files {
		if f.Secret == "" || part.File(f.Path) == nil {
			continue
		}
		base := secret.Base(f.Secret)
		i := slices.IndexFunc(secret.Kinds, func(k secret.Kind) bool {
			return secret.Base(k.Name) == base
		})
		require.GreaterOrEqual(t, i, 0, f.Secret)
		most = max(most, secret.Kinds[i].Worth)
	}
	return most
}

// TestExposure: the inventory says of each document and each body what the secrets are worth that
// are found in the finished file, and some reader of its platform.
func TestExposure(t *testing.T) {
	t.Parallel()
	worths := map[string]int{}
	for _, name := range cases(t) {
		r := load(t, name)
		for i, n := range nodes(t, name) {
			m := r.Plan.Machines[i]
			unlimited := *m.Platform
			unlimited.Limit, m.Platform = 0, &unlimited // some would be too large
			d, err := document.NewPacker(r.SecretCluster()).Pack(&m, n)
			require.NoError(t, err)
			e := d.Entry.Exposure
			doc, err := new(document.Parser).Parse(d.Files[0].Data)
			require.NoError(t, err)
			require.Equal(t, worthIn(t, n, doc).String(), e.Document.Holds, "%s %s", name, n.Name)
			require.Subset(t, e.Document.Readers, []string{"root", "host"})
			worths[e.Document.Holds]++
			require.Equal(t, d.Entry.Body != nil, e.Body != nil)
			if e.Body == nil {
				continue
			}
			file := d.Files[len(d.Files)-1]
			body := unpacked(t, file.Name, file.Data)
			require.Equal(t, worthIn(t, n, &body).String(), e.Body.Holds, "%s %s", name, n.Name)
			worths["body "+e.Body.Holds]++
		}
	}
	for _, seen := range []string{
		"none", "machine", "join", "cluster", "body none", "body machine", "body join",
		"body cluster",
	} {
		require.Positive(t, worths[seen], seen)
	}
}

// TestMaxExposure: a machine is refused if, and only if, others can read more in its document or
// body than its maxExposure.
func TestMaxExposure(t *testing.T) {
	t.Parallel()
	refused := 0
	for _, name := range cases(t) {
		r := fresh(t, name)
		require.Empty(t, document.RefusedExposures(r.SecretCluster()), name)
		for _, limit := range []string{"none", "machine", "join", "cluster"} {
			most, known := secret.ParseWorth(limit)
			require.True(t, known)
			for i := range r.Plan.Machines {
				for j := range r.Plan.Machines {
					r.Plan.Machines[j].Settings.MaxExposure = "cluster"
				}
				m := &r.Plan.Machines[i]
				own := *m.Settings
				own.MaxExposure = limit
				m.Settings = &own
				e := document.ExposureOf(r.SecretCluster(), m)
				exceeds := func(c *document.Copy) bool {
					if c == nil || len(c.Others()) == 0 {
						return false
					}
					worth, ok := secret.ParseWorth(c.Holds)
					require.True(t, ok, c.Holds)
					return worth > most
				}
				want := exceeds(&e.Document) || exceeds(e.Body)
				got := document.RefusedExposures(r.SecretCluster())
				require.Equal(t, want, len(got) == 1, "%s %s %s: %v", name, m.Name, limit, got)
				if want {
					refused++
					require.Contains(t, got[0].Message, m.Name)
				}
			}
		}
	}
	require.Greater(t, refused, 50)
}

// TestWorths: the values of maxExposure are the worths of secrets, in their order.
func TestWorths(t *testing.T) {
	t.Parallel()
	field, ok := reflect.TypeFor[config.Machine]().FieldByName("MaxExposure")
	require.True(t, ok)
	for i, name := range strings.Split(field.Tag.Get("enum"), ",") {
		worth, ok := secret.ParseWorth(name)
		require.True(t, ok, name)
		require.Equal(t, secret.Worth(i), worth)
	}
	_, ok = secret.ParseWorth("all")
	require.False(t, ok)
}

// deliveries are the modes in docs/exposure.md.
var deliveries = []string{"whole", "lean", "split", "pointer"}

// deliveryTable returns the table of what documents and bodies hold with each delivery, in
// Markdown. It is made from clusters.
func deliveryTable(t *testing.T) string {
	t.Helper()
	rows := map[string][]string{}
	var order []string
	for _, signing := range []string{"online", "offline"} {
		for _, mode := range deliveries {
			for _, g := range exposureOf(t, signing, mode) {
				for _, name := range append(g.Machines, g.Pools...) {
					name = strings.ReplaceAll(name, "-", " ")
					if signing == "offline" {
						name += " with `certificates.signing: offline`"
					}
					if rows[name] == nil {
						order = append(order, name)
					}
					cell := "`" + g.Document.Holds + "`"
					if g.Body != nil {
						cell += ", body `" + g.Body.Holds + "`"
					}
					rows[name] = append(rows[name], cell)
				}
			}
		}
	}
	var b strings.Builder
	b.WriteString("| document of | `whole` | `lean` | `split` | `pointer` |\n" +
		"|---|---|---|---|---|\n")
	for _, name := range order {
		fmt.Fprintf(&b, "| %s | %s |\n", name, strings.Join(rows[name], " | "))
	}
	return b.String()
}

// exposureOf returns the exposure of a cluster with a machine of each role on AWS.
func exposureOf(t *testing.T, signing, mode string) []document.ExposureGroup {
	t.Helper()
	text := `  endpoint: api.demo.example.com
  certificates: {signing: ` + signing + `}
  machines:
    os: ubuntu
    platform: aws
`
	if mode != "whole" {
		text += "    delivery: {mode: " + mode + ", url: \"https://boot.example.com/{node}\"}\n"
	}
	text += `  nodes:
  - {name: control-plane, role: control-plane, addresses: [10.0.0.11]}
  - {name: etcd-machine, role: etcd, addresses: [10.0.0.31]}
  - {name: worker, role: worker, addresses: [10.0.0.21]}
`
	if signing == "online" {
		text += "  pools:\n  - {name: pool}\n"
	}
	r, err := specified(t, text, os.DirFS(t.TempDir()))
	require.NoError(t, err)
	return r.Exposures()
}

// TestExposureDoc holds the tables of docs/exposure.md to those in Go.
func TestExposureDoc(t *testing.T) {
	t.Parallel()
	const path = "../docs/exposure.md"
	page := read(t, path)
	for _, table := range []string{
		worthTable(), readerTable(), platformTable(), deliveryTable(t), thiefTable(),
	} {
		header, _, _ := strings.Cut(table, "\n")
		begin := strings.Index(page, "\n"+header+"\n") + 1
		require.Positive(t, begin, "docs/exposure.md has no table %s", header)
		end := begin + strings.Index(page[begin:], "|\n\n") + 2
		if *update {
			page = page[:begin] + table + page[end:]
			continue
		}
		require.Equal(t, table, page[begin:end], "make golden rewrites it")
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
	}
}

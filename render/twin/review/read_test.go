package review_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/pack/document"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
)

// files returns the twin of one machine, with other texts for some of its files. An empty text
// removes a file.
func files(own map[string]string) map[string]string {
	const index = "" +
		"kiln review twin of cluster c 00000000-0000-0000-0000-000000000000 Kubernetes v1.36.3\n" +
		"node a worker flatcar metal ignition kubelet v1.36.3 until 2027\n"
	out := map[string]string{
		"INDEX":      index,
		"a/INDEX":    "file 0644 root:root /etc/motd\n",
		"a/etc/motd": "hello\n",
	}
	for name, text := range own {
		out[name] = text
		if text == "" {
			delete(out, name)
		}
	}
	return out
}

// read reads the twin that files returns.
func read(own map[string]string) (*change.Cluster, error) {
	all := files(own)
	return review.ReadFrom(func(name string) ([]byte, error) {
		if text, ok := all[name]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	})
}

// TestRead: a folder that is no twin is an error, and the error names the file.
func TestRead(t *testing.T) {
	t.Parallel()
	c, err := read(nil)
	require.NoError(t, err)
	require.Len(t, c.Machines, 1)
	motd := c.Machines[0].Entries.Find(change.Key{Kind: "file", ID: "/etc/motd"})
	require.Equal(t, "hello\n", string(motd.Content))
	shell := strings.ReplaceAll(files(nil)["INDEX"], "node a ", "node $(id) ")
	kubelet := strings.ReplaceAll(files(nil)["INDEX"], "kubelet v1.36.3", "kubelet $(id)")
	first, machine, _ := strings.Cut(files(nil)["INDEX"], "\n")
	twice := first + "\n" + machine + machine
	for name, row := range map[string]struct {
		own  map[string]string
		want string
	}{
		"no INDEX": {map[string]string{"INDEX": ""}, "INDEX"},
		"another INDEX": {
			map[string]string{"INDEX": "hello\n"}, "INDEX: not the INDEX of a review twin",
		},
		"no machine's name": {
			map[string]string{"INDEX": shell}, `"$(id)" is no name of a machine`,
		},
		"no kubelet's version": {
			map[string]string{"INDEX": kubelet}, `"$(id)" is no version of a kubelet`,
		},
		"a machine twice": {
			map[string]string{"INDEX": twice}, "INDEX: line 3: node a is there twice",
		},
		"no machine's INDEX": {map[string]string{"a/INDEX": ""}, "a/INDEX"},
		"a line of nothing": {
			map[string]string{"a/INDEX": "what is this\n"},
			`a/INDEX: "what is this" is no line of a review twin`,
		},
		"a mark of a conflict": {
			map[string]string{"a/INDEX": "<<<<<<< HEAD\n"},
			"a/INDEX: a merge conflict; kiln render --review writes the twin anew",
		},
		"an empty line":       {map[string]string{"a/INDEX": "\n"}, "is no line"},
		"a file that is gone": {map[string]string{"a/etc/motd": ""}, "a/INDEX names /etc/motd"},
		"shared that is gone": {
			map[string]string{"a/INDEX": "with shared/all\n"}, "shared/all/INDEX",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read(row.own)
			require.ErrorContains(t, err, row.want)
		})
	}
}

// TestReadBounds: entries that many machines share count for each of them.
func TestReadBounds(t *testing.T) {
	t.Parallel()
	var index, units strings.Builder
	index.WriteString("kiln review twin of cluster c 00000000-0000-0000-0000-000000000000 " +
		"Kubernetes v1.36.3\n")
	for i := range 300 {
		fmt.Fprintf(&index, "node a%d worker flatcar metal ignition kubelet v1.36.3\n", i)
	}
	for i := range 7000 {
		fmt.Fprintf(&units, "unit b%d masked\n", i)
	}
	_, err := review.ReadFrom(func(name string) ([]byte, error) {
		switch name {
		case review.IndexFile:
			return []byte(index.String()), nil
		case "shared/all/INDEX":
			return []byte(units.String()), nil
		}
		return []byte("with shared/all\n"), nil
	})
	require.ErrorContains(t, err, "the machines have more than 2000000 entries together")
}

// TestDocumentsRefuse: the names of an inventory are in commands too.
func TestDocumentsRefuse(t *testing.T) {
	t.Parallel()
	inv := &document.Inventory{Documents: []document.Entry{{Node: "$(id)"}}}
	documents, err := review.NewDocuments(inv, nil)
	require.NoError(t, err)
	_, err = documents.Twin()
	require.ErrorContains(t, err, `"$(id)" is no name of a machine`)
	inv.Documents[0].Node, inv.Documents[0].Kubelet = "a", "$(id)"
	_, err = documents.Twin()
	require.ErrorContains(t, err, `"$(id)" is no version of a kubelet`)
}

// FuzzRead: no twin makes Read, Compare or a plan panic, and a twin that was read and written is
// read as the same state.
func FuzzRead(f *testing.F) {
	for _, seed := range []struct{ machine, text string }{
		{"with shared/all\nwithout file /x\nfile 0644 root:root /a.yaml\n", "a: [{name: x}]\n"},
		{"file 0600 root:root /x <secret a g1>\n     certificate a g1: subject x; until y\n" +
			"unit a enabled\nuser a 1 /\n", ""},
		{"file 0644 root:root /etc/kiln/machine\n", "node='a'\n"},
	} {
		f.Add(files(nil)["INDEX"], seed.machine, seed.text)
	}
	f.Fuzz(func(t *testing.T, index, machine, text string) {
		c, err := review.ReadFrom(func(name string) ([]byte, error) {
			switch {
			case name == review.IndexFile:
				return []byte(index), nil
			case name == "shared/all/INDEX":
				return []byte("unit b masked\n"), nil
			case strings.HasSuffix(name, "/"+review.IndexFile):
				return []byte(machine), nil
			}
			return []byte(text), nil
		})
		if err != nil {
			return
		}
		other, err := read(nil)
		require.NoError(t, err)
		for _, d := range []*change.Diff{
			change.Compare(c, other), change.Compare(other, c), change.Compare(c, c),
		} {
			_ = d.Text(change.Form{Markdown: true})
			p, err := rollout.New(d, rollout.Options{MaxUnavailable: "1"})
			require.NoError(t, err)
			_ = p.Text(change.Form{})
		}
		require.False(t, change.Compare(c, c).Changed())
		again, err := review.Read(review.Write(c))
		require.NoError(t, err)
		require.False(t, change.Compare(c, again).Changed())
	})
}

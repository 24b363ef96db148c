package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/announce"
)

const cluster = "0b5c2f3e-4f0a-4a8e-9f0e-8d3c1c6b7a11"

// options are those of a ledger with two machines and a pool.
func options(path string) LedgerOptions {
	return LedgerOptions{
		Path: path, Cluster: cluster, PoolLimit: 100,
		Machines: []announce.Machine{{Name: "cp-1"}, {Name: "cp-2"}, {Name: "blue", Pool: true}},
	}
}

// open opens a ledger and begins to write it.
func open(t *testing.T, path string) *Ledger {
	t.Helper()
	l, err := OpenLedger(options(path))
	require.NoError(t, err)
	require.NoError(t, l.Forget(nil))
	t.Cleanup(l.Close)
	return l
}

// files returns the names in a folder, and the content of each.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	list := map[string]string{}
	for _, e := range entries {
		text, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		list[e.Name()] = string(text)
	}
	return list
}

func fetchOf(path string) *Fetch { return &Fetch{Path: path, Node: "cp-1", SHA256: "ab"} }

// oldState is a state of a kiln that kept fetches and announcements in one file.
func oldState(announced string) string {
	return `{
  "apiVersion": "kiln.dev/v1alpha1",
  "kind": "Served",
  "cluster": "` + cluster + `",
  "fetches": [
    {
      "path": "/cp-1/user-data",
      "node": "cp-1",
      "sha256": "ab",
      "time": "2026-11-21T18:40:07Z",
      "remote": "10.0.0.21:53112"
    }
  ],
  "announced": ` + announced + `
}
`
}

// announcedRow is a row of an old state, with some faults.
func announcedRow(machine, faults string) string {
	return `{"machine": "` + machine + `", "since": "2026-11-21T18:40:07Z",
		"heard": "2026-11-21T18:40:07Z", "remote": "10.0.0.21", "status": {"phase": "stopped",
		"step": "files", "node": "", "cluster": "", "document": "", "uptime": 1, "steps": {},
		"waiting": "", "faults": [` + faults + `]}}`
}

// TestOldState: the state of an older kiln loses no fetch, whatever machines announced in it, and
// becomes two files.
func TestOldState(t *testing.T) {
	t.Parallel()
	fault := `{"code": "a", "object": "` + strings.Repeat(`\u003c`, 400) + `", "evidence": "", ` +
		`"remedy": ""}`
	large := strings.TrimSuffix(strings.Repeat(fault+",", 290), ",")
	many := make([]string, 100)
	for i := range many {
		many[i] = announcedRow("cp-1", large)
	}
	for name, row := range map[string]struct {
		announced string
		want      int // machines
	}{
		"nothing announced": {"[]", 0},
		"two machines": {
			"[" + announcedRow("cp-1", "") + "," + announcedRow("cp-2", fault) + "]", 2,
		},
		"more than 64 MiB":   {"[" + strings.Join(many, ",") + "]", 1},
		"of another machine": {"[" + announcedRow("gone", "") + "]", 0},
		"of another form":    {`{"a": 1}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "served.json")
			require.NoError(t, os.WriteFile(path, []byte(oldState(row.announced)), 0o600))
			for range 2 { // the second one reads what the first one wrote
				l, err := OpenLedger(options(path))
				require.NoError(t, err)
				require.NoError(t, l.Forget(nil))
				require.NotNil(t, l.Find(fetchOf("/cp-1/user-data")))
				require.Len(t, l.Board().Rows(), row.want)
				require.Empty(t, l.Note())
				l.Close()
				got := files(t, dir)
				require.NotContains(t, got["served.json"], "announced")
				require.Equal(t, row.want > 0, got["served.json.announced"] != "")
				require.Less(t, len(got["served.json"])+len(got["served.json.announced"]), 64<<10)
			}
		})
	}
}

// TestUnreadAnnouncements: announcements that cannot be read are put aside as they are, with a line
// that says so, and the ledger opens with all fetches.
func TestUnreadAnnouncements(t *testing.T) {
	t.Parallel()
	const name = "served.json.announced"
	for what, row := range map[string]struct {
		make func(path string) error
		note string
	}{
		"empty":        {written(""), "damaged, or no announcements"},
		"cut off":      {written(`{"apiVersion":"kiln.dev/v1alpha1","kind":"Ann`), "damaged"},
		"another kind": {written(oldState("[]")), "damaged, or no announcements"},
		"another cluster": {
			written(`{"apiVersion":"kiln.dev/v1alpha1","kind":"Announced","cluster":"x"}`),
			"of another cluster (x)",
		},
		"too large": {
			func(path string) error {
				f, err := os.Create(path)
				if err == nil {
					err = f.Truncate(maxAnnounced + 1)
				}
				return err
			}, "larger than 64 MiB",
		},
		"a folder": {func(path string) error { return os.Mkdir(path, 0o700) }, "not a regular"},
		"a link": {
			func(path string) error { return os.Symlink("served.json", path) }, "not a regular",
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "served.json")
			l := open(t, path)
			require.NoError(t, l.Add(*fetchOf("/cp-1/user-data")))
			l.Close()
			require.NoError(t, os.WriteFile(path+".announced.unread-1", []byte("older"), 0o600))
			require.NoError(t, row.make(filepath.Join(dir, name)))
			before, err := os.Lstat(filepath.Join(dir, name))
			require.NoError(t, err)

			again, err := OpenLedger(options(path))
			require.NoError(t, err)
			require.Len(t, files(t, dir), 3, "nothing is written yet")
			require.NoError(t, again.Forget(nil))
			require.NotNil(t, again.Find(fetchOf("/cp-1/user-data")))
			require.Empty(t, again.Board().Rows())
			require.Contains(t, again.Note(), row.note)
			require.Contains(t, again.Note(), "it is now "+path+".announced.unread-2, ")
			aside, err := os.Lstat(path + ".announced.unread-2")
			require.NoError(t, err)
			require.True(t, os.SameFile(before, aside))
			require.NoError(t, again.KeepBoard())
			note := again.Note()
			require.NoError(t, again.Forget(nil), "a second time")
			require.Equal(t, note, again.Note())
			require.NoFileExists(t, path+".announced.unread-3")
			again.Close()
			require.Empty(t, open(t, path).Note())
		})
	}
}

// written returns what writes a file.
func written(text string) func(path string) error {
	return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
}

// TestUnreadFetches: without the fetches nothing is opened, and no message recommends what would
// forget them.
func TestUnreadFetches(t *testing.T) {
	t.Parallel()
	for what, row := range map[string]struct{ text, want string }{
		"empty":           {"", "not a state of kiln serve, or damaged; it says"},
		"cut off":         {oldState("[]")[:200], "not a state of kiln serve, or damaged; it says"},
		"another kind":    {`{"kind":"Inventory"}`, "put back a copy of it"},
		"another cluster": {strings.Replace(oldState("[]"), "0b5c", "0b5d", 1), "keep it, and"},
	} {
		path := filepath.Join(t.TempDir(), "served.json")
		require.NoError(t, os.WriteFile(path, []byte(row.text), 0o600))
		_, err := OpenLedger(options(path))
		require.ErrorContains(t, err, row.want, what)
		require.NotContains(t, err.Error(), "another file with --state", what)
		require.Equal(t, what == "another cluster", strings.Contains(err.Error(), "--state"), what)
		require.Equal(t, map[string]string{"served.json": row.text}, files(t, filepath.Dir(path)))
	}
}

// TestRoom: fetches are added as long as their file is far smaller than what is read, and a pool's
// machines leave half of that to named ones. What is counted is the size of the file, at least.
func TestRoom(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "served.json")
	l := open(t, path)
	l.most = 64 << 10
	fill := func(node, machine string) (n int) {
		for ; ; n++ {
			f := Fetch{
				Path: "/" + node + "/user-data", Node: node, SHA256: strings.Repeat("a", 64),
				Machine: machine, Time: time.Now(), Remote: fmt.Sprintf("10.0.0.1:%d", n),
			}
			if machine != "" {
				f.Machine = fmt.Sprintf("uuid %064d\x01<%s", n, machine)
			}
			if !l.HasRoom(&f) {
				return n
			}
			require.NoError(t, l.Add(f))
		}
	}
	pooled := fill("blue", "x")
	require.Greater(t, pooled, 50)
	require.Zero(t, fill("blue", "y"))
	require.Greater(t, fill("cp-1", ""), 50)
	require.Zero(t, fill("cp-2", ""))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(l.most)+200)
	require.Greater(t, info.Size(), int64(l.most)*3/4)
	require.NoError(t, l.Forget([]string{"cp-1"}))
	require.True(t, l.HasRoom(fetchOf("/cp-2/user-data")))
	l.Close()
	again := open(t, path)
	again.most = l.most
	require.Equal(t, l.size, again.size)
	require.False(t, again.HasRoom(&Fetch{Machine: "uuid 1"}), "a pool still has its half")
}

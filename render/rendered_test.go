package render_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
)

// folderOf returns an output folder with these entries. Each document holds its own name.
func folderOf(t *testing.T, entries ...render.Entry) string {
	t.Helper()
	dir := t.TempDir()
	for i := range entries {
		e := &entries[i]
		if name := filepath.Join(dir, e.Document); filepath.IsLocal(e.Document) {
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
			require.NoError(t, os.WriteFile(name, []byte(e.Node), 0o600))
		}
		sum := sha256.Sum256([]byte(e.Node))
		e.SHA256 = hex.EncodeToString(sum[:])
	}
	data, err := json.Marshal(render.Inventory{Kind: "Inventory", Documents: entries})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, render.InventoryFile), data, 0o600))
	return dir
}

// TestRendered: a machine is found by its folder or its document, a pool too, and all machines by
// the output folder.
func TestRendered(t *testing.T) {
	t.Parallel()
	dir := folderOf(t,
		render.Entry{Node: "cp-1", Document: "cp-1/config.ign"},
		render.Entry{Node: "small", Pool: true, Document: "pools/small/user-data"})
	for name, want := range map[string]int{
		"": 2, "cp-1": 1, "cp-1/": 1, "cp-1/config.ign": 1,
		"pools/small": 1, "pools/small/user-data": 1,
	} {
		out, inv, entries, err := render.Rendered(dir + "/" + name)
		require.NoError(t, err, name)
		require.Equal(t, dir, out)
		require.Len(t, inv.Documents, 2)
		require.Len(t, entries, want)
	}
	_, _, _, err := render.Rendered(dir + "/pools")
	require.EqualError(t, err,
		dir+"/pools: "+dir+"/inventory.json has no such machine; it has cp-1, pools/small")
	_, _, _, err = render.Rendered(dir + "/cp-2")
	require.ErrorContains(t, err, "has no such machine")
	_, _, _, err = render.Rendered(t.TempDir())
	require.ErrorContains(t, err, "not a folder that kiln render wrote, nor in one")
}

// TestDeliveries: a file that an inventory lists is read only from a path to which kiln could have
// written it.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	entries := []render.Entry{
		{Node: "cp-1", Document: "cp-1/config.ign"},
		{Node: "../x", Document: "../x/config.ign"},
		{Node: "cp-2", Document: "cp-9/config.ign"},
		{Node: "a b", Document: "a b/config.ign"},
		{Node: "cp-3", Document: "cp-3/user-data", Others: []string{"admin.conf"}},
		{Node: "cp-4", Document: "cp-4/user-data"},
		{Node: "cp-5", Document: "cp-5/user-data"},
		{Node: "cp-6", Document: "cp-6/user-data"},
	}
	dir := folderOf(t, entries...)
	require.NoError(t, os.Remove(filepath.Join(dir, "cp-4/user-data")))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "cp-4/user-data")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cp-5/user-data"), []byte("changed"), 0o600))
	require.NoError(t, os.Remove(filepath.Join(dir, "cp-6/user-data")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "cp-6/user-data"), 0o700))
	want := []string{
		"", `node "../x" with the document "../x/config.ign": kiln writes no such entry`,
		`node "cp-2" with the document "cp-9/config.ign"`,
		`node "a b" with`, `node "cp-3" with the file "admin.conf"`, "cp-4/user-data: a link",
		"cp-5/user-data: not the document that inventory.json lists; render again",
		"cp-6/user-data: not a regular file",
	}
	i := 0
	for d, err := range render.Deliveries(dir, entries) {
		if want[i] == "" {
			require.NoError(t, err)
			require.Equal(t, []render.Output{{Name: "config.ign", Data: []byte("cp-1")}}, d.Files)
		} else {
			require.ErrorContains(t, err, want[i])
		}
		i++
	}
	require.Equal(t, len(want), i)
}

package folder_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/folder"
)

// run writes files of one content to a folder whose list has one path a line.
func run(o folder.Options, content string, paths ...string) error {
	o.Mode, o.List, o.What, o.Flag = 0o600, "list", "a folder of kiln", "--out"
	o.Paths = func(list []byte) ([]string, error) { return strings.Fields(string(list)), nil }
	o.Makes = func(name string) bool { return strings.HasSuffix(name, "/x") }
	o.Inside = func(dir string, _ func(string) ([]byte, error)) []string {
		return []string{dir + "/x"}
	}
	f, err := folder.Open(o)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, name := range paths {
		if err := f.Stage(name, []byte(content)); err != nil {
			return err
		}
	}
	var own []string
	if o.Folders {
		own = append(own, filepath.Dir(paths[0]))
		paths = own
	}
	for _, step := range []func() error{
		func() error { return f.MarkStale(own...) },
		func() error { return f.Stage("list", []byte(strings.Join(paths, "\n"))) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if o.Check {
		return nil
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Commit()
}

// TestCutOff: whatever an interrupted run left, the folder has what the next run writes, even if
// that writes other files. With a list of folders, temporary files stay in a folder that no list
// names.
func TestCutOff(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]map[string]string{
		"nothing in place":   {"a/x.kiln-new": "1", "b/x.kiln-new": "1"},
		"list staged":        {"a/x.kiln-new": "1", "list.kiln-new": "a/x\nb/x"},
		"half in place":      {"a/x.kiln-new": "1", "b/x": "1", "list.kiln-new": "a/x\nb/x"},
		"all but the list":   {"a/x": "1", "b/x": "1", "list.kiln-new": "a/x\nb/x"},
		"second run, before": {"a/x": "0", "b/x.kiln-new": "1", "list": "a/x"},
		"second run, half": {"a/x": "0", "c/x": "1", "b/x.kiln-new": "1", "list": "a/x",
			"list.kiln-new": "a/x\nb/x\nc/x"},
		"second run, less":        {"list": "a/x\nb/x", "a/x": "1", "list.kiln-new": "a/x"},
		"list of a run before it": {"a/x": "0", "list": "a/x", "list.kiln-new": "q/x\n../y\nc/x"},
	} {
		for _, folders := range []bool{false, true} {
			dir := t.TempDir()
			for path, content := range left {
				if folders && strings.HasPrefix(path, "list") {
					content = strings.ReplaceAll(content, "/x", "")
				}
				put(t, filepath.Join(dir, path), content)
			}
			require.NoError(t, run(folder.Options{Dir: dir, Folders: folders, Check: true}, "2",
				"a/x"), name)
			require.NoError(t, run(folder.Options{Dir: dir, Folders: folders}, "2", "a/x"), name)
			want := []string{"a/x", "list"}
			unnamed := name == "nothing in place" || name == "second run, before"
			if folders && unnamed { // no list names the folder b, so it may be somebody else's
				want = []string{"a/x", "b/x.kiln-new", "list"}
			}
			require.Equal(t, want, names(t, dir), name)
			require.Equal(t, "2", read(t, filepath.Join(dir, "a/x")), name)
		}
	}
}

// TestStrangers: a foreign folder does not change, whatever names are in it.
func TestStrangers(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		there map[string]string
		want  string
	}{
		"a file": {map[string]string{"thesis": "1"},
			"it holds thesis and has no list"},
		"a file in a folder": {map[string]string{"a/x": "1"}, "it holds a/x and has no list"},
		"beside what was left": {map[string]string{"a/x.kiln-new": "1", "b/y": "1",
			"list.kiln-new": "a/x"}, "it holds b/y"},
		"not in the list": {map[string]string{"a/x": "1", "list": "b/x", "b/x": "1"},
			"a/x: is there already, and list does not list it"},
	} {
		dir := t.TempDir()
		for path, content := range row.there {
			put(t, filepath.Join(dir, path), content)
		}
		before := names(t, dir)
		require.ErrorContains(t, run(folder.Options{Dir: dir}, "2", "a/x", "c/x"), row.want, name)
		require.Equal(t, before, names(t, dir), name)
	}
}

// TestForeign: kiln removes nothing that it did not write: neither from a folder that somebody put
// into the list, nor a file that only has the name of a temporary one.
func TestForeign(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"list", "list.kiln-new"} {
		dir := t.TempDir()
		require.NoError(t, run(folder.Options{Dir: dir, Folders: true}, "1", "a/x"))
		for _, name := range []string{"b/mine", "b/deep/mine", "c/mine.kiln-new", "b/x"} {
			put(t, filepath.Join(dir, name), "mine")
		}
		put(t, filepath.Join(dir, list), "a\nb\nc")
		require.NoError(t, run(folder.Options{Dir: dir, Folders: true}, "2", "a/x"))
		require.Equal(t, []string{"a/x", "b/deep/mine", "b/mine", "c/mine.kiln-new", "list"},
			names(t, dir), list)
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "images/mine.kiln-new"), "mine")
	put(t, filepath.Join(dir, "a/x.kiln-new"), "left")
	require.NoError(t, run(folder.Options{Dir: dir, Shared: true}, "1", "b/x"))
	require.Equal(t, []string{"b/x", "images/mine.kiln-new", "list"}, names(t, dir))
}

// TestShared: kiln writes beside foreign files, and replaces none.
func TestShared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "images/kernel"), "theirs")
	require.NoError(t, os.Chmod(dir, 0o755))
	shared := folder.Options{Dir: dir, Shared: true}
	require.NoError(t, run(shared, "1", "a/x"))
	require.ErrorContains(t, run(shared, "1", "images/kernel"), "is there already")
	require.NoError(t, run(shared, "1", "b/x"))
	require.Equal(t, []string{"b/x", "images/kernel", "list"}, names(t, dir))
}

// TestClosed: a folder for secrets is closed to other users, unless it is a foreign one.
func TestClosed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nodes")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chmod(dir, 0o777|os.ModeSticky))
	require.NoError(t, run(folder.Options{Dir: dir}, "1", "a/x"))
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077)

	require.NoError(t, os.Chmod(dir, 0o770))
	require.NoError(t, os.Remove(filepath.Join(dir, "list")))
	require.ErrorContains(t, run(folder.Options{Dir: dir, Shared: true}, "1", "a/x"),
		"others may read or change what is in it (mode 0770)")
}

// TestWritableByAll: a folder that everybody may change is found, but not one with the sticky bit.
func TestWritableByAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "nodes", "more")
	before := folder.WritableByAll(name) // above the tests' own folder
	require.NoError(t, os.Chmod(dir, 0o777|os.ModeSticky))
	require.Equal(t, before, folder.WritableByAll(name))
	require.NoError(t, os.Chmod(dir, 0o777))
	require.Equal(t, dir, folder.WritableByAll(name))
}

// TestTooLarge: nothing is written that the next run could not read.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	f, err := folder.Open(folder.Options{Dir: dir, Mode: 0o600, List: "list", Flag: "--out"})
	require.NoError(t, err)
	defer f.Close()
	err = f.Stage("list", make([]byte, folder.MaxList+1))
	require.EqualError(t, err, filepath.Join(dir, "list")+": larger than 256 MiB, so that kiln "+
		"could not read it again")
}

// TestUnsynced: a file that has its name stays written if the disk does not confirm the name. It is
// no error, and the journal has it once.
func TestUnsynced(t *testing.T) { // not parallel: all syncs fail
	for _, row := range []struct {
		name        string
		err         error
		unsupported bool
	}{
		{"no folder is synced there", syscall.EINVAL, true},
		{"not supported", syscall.ENOTSUP, true},
		{"the disk fails", syscall.EIO, false},
		{"the disk is full", syscall.ENOSPC, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			folder.FailSync(t, row.err)
			dir := t.TempDir()
			path, start := filepath.Join(dir, "a"), folder.Now()
			require.False(t, start.Changed())
			ours := func([]byte) bool { return true }
			require.NoError(t, folder.Create(path, []byte("one"), 0o600))
			require.NoError(t, folder.Write(folder.File{Path: path, Ours: ours}, []byte("two")))
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, "two", string(data))
			require.True(t, start.Changed())
			require.Equal(t, []folder.Unsynced{{Path: path, Err: row.err}}, start.Unsynced())
			require.Equal(t, row.unsupported, start.Unsynced()[0].Unsupported())
			renamed, err := folder.Rename(path, path+"b")
			require.NoError(t, err)
			require.True(t, renamed)
			// A process that writes a file again and again has to know of a disk that fails.
			err = folder.Replace(filepath.Join(dir, "state"), []byte("x"), 0o600)
			require.Equal(t, row.unsupported, err == nil, err)
		})
	}
}

// TestUnchanged: what fails before the first file gets its name has changed nothing.
func TestUnchanged(t *testing.T) { // not parallel: the journal is one for all
	dir, start := t.TempDir(), folder.Now()
	path := filepath.Join(dir, "a")
	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	require.Error(t, folder.Create(path, []byte("one"), 0o600))
	refuse := func([]byte) bool { return false }
	require.Error(t, folder.Write(folder.File{Path: path, Ours: refuse}, []byte("two")))
	require.Error(t, folder.Make(filepath.Join(dir, "new"), func(*os.Root) error {
		return errors.New("full")
	}))
	folder.Tidy(path)
	require.False(t, start.Changed())
	require.Empty(t, start.Unsynced())
}

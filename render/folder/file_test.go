package folder_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/folder"
)

// ours returns a kind of file that begins with a certain word.
func ours(path string) folder.File {
	return folder.File{
		Path: path, Mode: 0o644, What: "a page", Flag: "--out",
		Ours: func(content []byte) bool { return content[0] == 'p' },
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// names returns the paths below a folder.
func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	add := func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, name)
		}
		return err
	}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", add))
	return out
}

// TestCreate: a new file is whole and replaces no other file, even on a file system without hard
// links.
func TestCreate(t *testing.T) {
	t.Parallel()
	for name, create := range map[string]func(string, []byte, fs.FileMode) error{
		"with links": folder.Create,
		"without": func(path string, data []byte, mode fs.FileMode) error {
			return folder.CreateWithout(path, data, mode, syscall.EPERM)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "bundle")
			require.NoError(t, create(path, []byte("one"), 0o600))
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, "-rw-------", info.Mode().String())
			require.ErrorIs(t, create(path, []byte("two"), 0o600), fs.ErrExist)
			require.Equal(t, "one", read(t, path))
			require.NoError(t, os.Symlink("elsewhere", filepath.Join(dir, "link")))
			require.Error(t, create(filepath.Join(dir, "link"), []byte("two"), 0o600))
			require.Error(t, create(filepath.Join(dir, "absent", "bundle"), []byte("two"), 0o600))
			require.Equal(t, []string{"bundle", "link"}, names(t, dir))
		})
	}
}

// TestWriteKeepsMode: a replaced file keeps its mode.
func TestWriteKeepsMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page")
	require.NoError(t, folder.Write(ours(path), []byte("p1")))
	require.NoError(t, os.Chmod(path, 0o640))
	require.NoError(t, folder.Write(ours(path), []byte("p2")))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, "-rw-r-----", info.Mode().String())
}

// TestWriteRefuses: a file that is not ours does not change.
func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	const privateKey = "-----BEGIN EC PRIVATE KEY-----\n"
	for name, content := range map[string]string{
		"a bundle, which holds every secret of a cluster, and not a page": "x: 1\nkind: Secrets\n",
		"a cluster's configuration, and not a page":                       "kind: Cluster\n",
		"holds a private key, and is not a page":                          privateKey,
		"file: not a page; it is not replaced":                            "else",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "file")
		put(t, path, content)
		require.ErrorContains(t, folder.Write(ours(path), []byte("p")), name)
		require.Equal(t, content, read(t, path))
		require.Equal(t, []string{"file"}, names(t, dir))
	}
}

// TestWriteAfterAChange: a file that somebody has changed since it was read does not change, and
// the way on is no other file.
func TestWriteAfterAChange(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	put(t, path, "kind: Secrets\n")
	again := folder.File{Path: path, Mode: 0o600, Ours: func([]byte) bool { return false }}
	require.EqualError(t, folder.Write(again, []byte("new")), path+": it has changed since it was "+
		"read, and is not replaced; run the command again")
	require.Equal(t, "kind: Secrets\n", read(t, path))
	require.NoError(t, os.Remove(path))
	again.Exists = true
	require.EqualError(t, folder.Write(again, []byte("new")), path+": it has gone since it was "+
		"read, and is not made again; run the command again")
	require.NoFileExists(t, path)
	require.NoError(t, os.Mkdir(path, 0o755))
	require.EqualError(t, folder.Write(again, []byte("new")), path+": not a regular file; "+
		"it is not replaced")
}

// TestWriteWhileAnotherWrites: a temporary file that a process has open is no leftover.
func TestWriteWhileAnotherWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "page")
	file, err := folder.Writing(path)
	require.NoError(t, err)
	require.ErrorContains(t, folder.Write(ours(path), []byte("p")), "another kiln is writing there")
	folder.Tidy(path)
	require.FileExists(t, path+folder.Suffix)
	require.NoError(t, file.Close())
	require.NoError(t, folder.Write(ours(path), []byte("p")))
	require.Equal(t, []string{"page"}, names(t, dir))
}

// TestTidy: only a regular file is removed.
func TestTidy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a"+folder.Suffix), "left over")
	put(t, filepath.Join(dir, "victim"), "mine")
	require.NoError(t, os.Symlink("victim", filepath.Join(dir, "b"+folder.Suffix)))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "c"+folder.Suffix), 0o600))
	for _, name := range []string{"a", "b", "c", "d"} {
		folder.Tidy(filepath.Join(dir, name))
	}
	require.Equal(t, []string{"b.kiln-new", "c.kiln-new", "victim"}, names(t, dir))
	require.Equal(t, "mine", read(t, filepath.Join(dir, "victim")))
}

// TestMake: a folder exists with all its files, or not at all.
func TestMake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "tree")
	put(t, filepath.Join(path+folder.Suffix, "left"), "over")
	broken := errors.New("broken")
	fill := func(err error) func(*os.Root) error {
		return func(root *os.Root) error {
			return errors.Join(root.WriteFile("a", nil, 0o600), err)
		}
	}
	require.ErrorIs(t, folder.Make(path, fill(broken)), broken)
	require.Empty(t, names(t, dir))
	require.NoError(t, folder.Make(path+"/", fill(nil)))
	require.Equal(t, []string{"tree/a"}, names(t, dir))
	require.ErrorIs(t, folder.Make(path, fill(nil)), fs.ErrExist)
	put(t, filepath.Join(dir, "b"+folder.Suffix), "a file")
	require.ErrorContains(t, folder.Make(filepath.Join(dir, "b"), fill(nil)), "not a folder")
}

// TestReplace: several runs replace one file at the same time, while others tidy. Each succeeds,
// the file is always whole, and no temporary file is left.
func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	put(t, filepath.Join(dir, "victim"), "mine")
	require.NoError(t, os.Symlink("victim", path))
	require.NoError(t, os.Symlink("victim", path+folder.Suffix+"-1"))
	errs := make(chan error, 64)
	for i := range cap(errs) {
		go func() {
			if i%2 == 0 {
				folder.Tidy(path)
			}
			errs <- folder.Replace(path, bytes.Repeat([]byte{'a'}, 1<<16), 0o600)
		}()
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
		require.Contains(t, []int{len("mine"), 1 << 16}, len(read(t, path)))
	}
	folder.Tidy(path)
	require.Equal(t, []string{"state", "state.kiln-new-1", "victim"}, names(t, dir))
	require.Equal(t, "mine", read(t, filepath.Join(dir, "victim")))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, "-rw-------", info.Mode().String())
}

// TestReadNoLink: a link is refused, and a file is read.
func TestReadNoLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "file"), "content")
	require.NoError(t, os.Symlink("file", filepath.Join(dir, "link")))
	data, err := folder.ReadNoLink(filepath.Join(dir, "file"), 100)
	require.NoError(t, err)
	require.Equal(t, "content", string(data))
	_, err = folder.ReadNoLink(filepath.Join(dir, "link"), 100)
	require.ErrorIs(t, err, folder.ErrIrregular)
}

// TestWithoutWaiting: a file that has something to read is read, and one that would wait is
// refused.
func TestWithoutWaiting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "file"), "content")
	f, err := os.Open(filepath.Join(dir, "file"))
	require.NoError(t, err)
	defer f.Close()
	data, err := io.ReadAll(folder.WithoutWaiting(f))
	require.NoError(t, err)
	require.Equal(t, "content", string(data))

	// A pipe whose other end is open waits as /proc/kmsg does, which only root can read.
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	both, err := os.OpenFile(pipe, os.O_RDWR|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer both.Close()
	_, err = io.ReadAll(folder.WithoutWaiting(both))
	require.ErrorIs(t, err, folder.ErrIrregular)
}

// TestOpenInside: links that stay in the folder are followed, links out of it are not, and only
// regular files are opened.
func TestOpenInside(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nodes")
	put(t, filepath.Join(dir, "file"), "content")
	put(t, filepath.Join(dir, "../outside"), "secret")
	links := map[string]string{"in": "file", "out": "../outside", "nothing": "absent"}
	for name, to := range links {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	f, err := folder.OpenInside(dir, "in")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, err = folder.OpenInside(dir, "out")
	require.ErrorContains(t, err, filepath.Join(dir, "out")+": path escapes")
	_, err = folder.OpenInside(dir, "nothing")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = folder.OpenInside(filepath.Join(dir, "file"), "x")
	require.ErrorIs(t, err, syscall.ENOTDIR)
	for _, open := range []func(dir, name string) (*os.File, error){
		folder.OpenInside, folder.OpenUnlinked,
	} {
		_, err = open(filepath.Join(dir, "pipe"), "x") // without waiting for its other end
		require.ErrorIs(t, err, syscall.ENOTDIR)
	}
	_, err = folder.OpenInside(dir, "pipe")
	require.ErrorIs(t, err, folder.ErrIrregular)
}

// TestOpenUnlinked: no link is followed, wherever in the path it is, and only regular files are
// opened.
func TestOpenUnlinked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a/b/file"), "content")
	put(t, filepath.Join(dir, "top"), "content")
	require.NoError(t, os.Symlink("file", filepath.Join(dir, "a/b/link")))
	require.NoError(t, os.Symlink("b", filepath.Join(dir, "a/linked")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "out")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "a/pipe"), 0o600))
	for _, name := range []string{"a/b/file", "top"} {
		f, err := folder.OpenUnlinked(dir, name)
		require.NoError(t, err, name)
		require.NoError(t, f.Close())
	}
	for _, name := range []string{"a/b/link", "a/linked/file", "out/b/file"} {
		_, err := folder.OpenUnlinked(dir, name)
		require.ErrorIs(t, err, folder.ErrLink, name)
	}
	for name, want := range map[string]error{
		"a/pipe": folder.ErrIrregular, "a/b": folder.ErrIrregular, "a/none": fs.ErrNotExist,
		"none/file": fs.ErrNotExist,
	} {
		_, err := folder.OpenUnlinked(dir, name)
		require.ErrorIs(t, err, want, name)
	}
}

// TestWriteAtOnce: of several runs that change one state of a file, one does, and the others are
// refused. None that was told of success is lost.
func TestWriteAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "count")
	put(t, path, "0")
	var done atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 60 {
				before, err := os.ReadFile(path)
				if err != nil {
					t.Error(err)
					return
				}
				n, err := strconv.Atoi(string(before))
				if err != nil {
					t.Error(err)
					return
				}
				f := folder.File{
					Path: path, What: "what was read", Flag: "--out",
					Ours: func(now []byte) bool { return bytes.Equal(now, before) },
				}
				if folder.Write(f, []byte(strconv.Itoa(n+1))) == nil {
					done.Add(1)
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, strconv.FormatInt(done.Load(), 10), read(t, path))
	require.Positive(t, done.Load())
}

// TestOwned: a file has one owner at a time, whatever was there before, and what the owner writes
// is kept.
func TestOwned(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	owner, err := folder.Own(path)
	require.NoError(t, err)
	other, err := folder.Own(path)
	require.NoError(t, err, "there is nothing yet that could be owned")
	for _, text := range []string{"1", "2", "3"} {
		require.NoError(t, owner.Replace([]byte(text), 0o600))
		_, err = folder.Own(path)
		require.ErrorContains(t, err, "state: another kiln is writing there")
		require.ErrorContains(t, other.Replace([]byte("x"), 0o600), "another kiln is writing there")
		require.Equal(t, text, read(t, path))
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)

	// Somebody removes the file, and another process takes its place.
	require.NoError(t, os.Remove(path))
	require.NoError(t, other.Replace([]byte("4"), 0o600))
	require.ErrorContains(t, owner.Replace([]byte("x"), 0o600), "another kiln is writing there")
	require.Equal(t, "4", read(t, path))
	require.NoError(t, owner.Close())
	require.NoError(t, other.Close())
	require.NoError(t, other.Close())

	next, err := folder.Own(path)
	require.NoError(t, err)
	require.NoError(t, next.Close())
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(path, link))
	_, err = folder.Own(link)
	require.ErrorIs(t, err, folder.ErrIrregular)
}

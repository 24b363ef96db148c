//go:build unix

package serve_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/serve"
)

// soon opens a folder, and fails the test if that does not come to an end.
func soon(t *testing.T, dir, state string) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, err := serve.New([]string{dir}, serve.Options{State: state, Window: time.Hour})
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("it hangs")
		return nil
	}
}

// TestNoPlainState: a state that is not a regular file is refused at once. Nothing is read through
// a link.
func TestNoPlainState(t *testing.T) {
	t.Parallel()
	const want = ": not a regular file; --state wants the file itself, and no link to it"
	dir := example(t)
	for name, make := range map[string]func(path string) error{
		"a FIFO":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"a link": func(path string) error {
			return os.Symlink(filepath.Join(dir, "boot.ipxe"), path)
		},
		"a socket": func(path string) error {
			l, err := net.Listen("unix", path)
			if err == nil {
				t.Cleanup(func() { _ = l.Close() })
			}
			return err
		},
	} {
		parent, err := os.MkdirTemp("", "kiln") // the path of a socket has to be short
		require.NoError(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(parent) })
		path := filepath.Join(parent, "state")
		require.NoError(t, make(path))
		require.EqualError(t, soon(t, dir, path), path+want, name)
	}
	require.EqualError(t, soon(t, dir, "/dev/null"), "/dev/null"+want)
}

// TestNoPlainFolder: an inventory or a document that is not a regular file is refused at once.
func TestNoPlainFolder(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"inventory.json", "cp-1/config.ign"} {
		dir := example(t)
		path := filepath.Join(dir, name)
		require.NoError(t, os.Remove(path))
		require.NoError(t, syscall.Mkfifo(path, 0o600))
		err := soon(t, dir, filepath.Join(t.TempDir(), "state"))
		require.ErrorContains(t, err, path+": not a regular file")
	}
}

// TestNoLinks: the server follows no link inside its folders, whoever asks and for whatever. At its
// start it names the links among the files that everybody gets.
func TestNoLinks(t *testing.T) {
	t.Parallel()
	dir := example(t)
	write(t, dir, map[string]string{
		"admin.conf": "kind: Config\n", "ipxe/mine.ipxe": "#!ipxe\n", "images/flatcar/k": "\x00",
	})
	for name, to := range map[string]string{
		"images/flatcar/link": "../../admin.conf", "ipxe/link.ipxe": "mine.ipxe",
		"images/linked": "flatcar", "installer": "ipxe",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "images/flatcar/older"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "images/flatcar/pipe"), 0o600))
	r := start(t, dir, nil)
	require.Equal(t, []string{
		filepath.Join(dir, "images/flatcar/link") + ": a link, or below one",
		filepath.Join(dir, "images/flatcar/pipe") + ": not a regular file",
		filepath.Join(dir, "images/linked/k") + ": a link, or below one",
		filepath.Join(dir, "images/linked/link") + ": a link, or below one",
		filepath.Join(dir, "images/linked/pipe") + ": a link, or below one",
		filepath.Join(dir, "ipxe/link.ipxe") + ": a link, or below one",
	}, r.Withheld())
	r.requireRefused(t, "/images/flatcar/older", "/images/flatcar/link", "/images/flatcar/pipe",
		"/images/linked/k", "/ipxe/link.ipxe")
	r.requireGiven(t, "/images/flatcar/k", "\x00")

	// A link that takes the place of a file later is not followed either.
	for name, to := range map[string]string{
		"images/flatcar/k": "../../admin.conf", "worker-1/meta-data": "../admin.conf",
	} {
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
		require.NoError(t, os.Symlink(to, filepath.Join(dir, name)))
		status, body := r.get(t, "/"+name)
		require.Equal(t, http.StatusServiceUnavailable, status, name)
		require.NotContains(t, body, "Config")
	}
}

// TestStateLinks: writing the state follows no link, changes no file beside it, and removes its own
// leftovers.
func TestStateLinks(t *testing.T) {
	t.Parallel()
	dir := example(t)
	victim := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, []byte("of somebody else"), 0o600))
	state := filepath.Join(dir, "served.json")
	require.NoError(t, os.Symlink(victim, state+".kiln-new"))
	require.NoError(t, os.Symlink(victim, state+".kiln-new-1"))
	require.NoError(t, os.WriteFile(state+".kiln-new-2", []byte("half"), 0o600))
	require.NoError(t, syscall.Mkfifo(state+".kiln-new-3", 0o600))
	require.NoError(t, os.WriteFile(state+".kiln-new-mine", []byte("of a person"), 0o600))

	s, err := serve.New([]string{dir}, serve.Options{State: state, Window: time.Hour})
	require.NoError(t, err)
	require.NoError(t, s.Begin(io.Discard))
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "of somebody else", string(text))
	info, err := os.Lstat(state)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode(), "a regular file, its owner's alone")
	left, err := filepath.Glob(state + ".*")
	require.NoError(t, err)
	for i := range left {
		left[i] = strings.TrimPrefix(left[i], state)
	}
	require.Equal(t, []string{".kiln-new", ".kiln-new-1", ".kiln-new-3", ".kiln-new-mine"}, left)
}

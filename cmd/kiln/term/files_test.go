package term_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/term"
)

// TestFiles shows the errors that testdata/script/places.txtar cannot make everywhere, such as a
// right that root always has.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := filepath.Join(dir, "nodes", "cp-1")
	named := []term.NamedPath{
		{Path: filepath.Join(dir, "c.yaml"), Flag: "--config"},
		{Path: filepath.Join(dir, "nodes"), Flag: "--out", Output: true},
	}
	fault := func(path string, cause error) error {
		return &fs.PathError{Op: "open", Path: path, Err: cause}
	}
	for _, row := range []struct {
		err  error
		want string
	}{
		{
			fault(at, syscall.EACCES),
			at + ": you may not write there (permission denied); name another place with --out",
		}, {
			fault(filepath.Join(at, "user-data.kiln-new"), syscall.EACCES),
			filepath.Join(at, "user-data") + ": you may not write there (permission denied); " +
				"make the folder " + at + " writable, or name another place with --out",
		}, {
			fault(filepath.Join(dir, "prod.secrets.yaml.kiln-new"), syscall.EACCES),
			filepath.Join(dir, "prod.secrets.yaml") +
				": you may not write there (permission denied); " +
				"make the folder " + dir + " writable, or name another place",
		}, {
			fault(named[0].Path, syscall.EACCES),
			named[0].Path + ": you may not read it (permission denied); " +
				"change its mode or owner, or name another file with --config",
		}, {
			fault(at, syscall.ENOSPC),
			at + ": no space left on device; name another place with --out",
		}, {
			fault(named[0].Path+".kiln-new", syscall.ENOSPC),
			named[0].Path + ": no space left on device; make room there",
		}, {
			&os.LinkError{Op: "rename", Old: "a", New: at, Err: syscall.EROFS},
			at + ": read-only file system; name another place with --out",
		}, {
			fmt.Errorf("%w; remove it", fault(at, syscall.EIO)),
			at + ": input/output error; remove it",
		},
		{fault("elsewhere", syscall.EIO), "elsewhere: input/output error"},
		{errors.New("another"), "another"},
		{
			errors.Join(errors.New("another"), fault("elsewhere", syscall.EIO)),
			"another\nelsewhere: input/output error",
		},
	} {
		got := term.ExplainFiles(row.err, named)
		require.EqualError(t, got, row.want)
		if unwrapped := errors.Unwrap(got); unwrapped != nil {
			require.Equal(t, row.err, unwrapped, "the cause stays")
		}
	}
	require.NoError(t, term.ExplainFiles(nil, named))
}

// TestWithin: links are followed as far as the path exists, and a folder is not within itself.
func TestWithin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.MkdirAll(at("real/below"), 0o755))
	require.NoError(t, os.Symlink("real", at("link")))
	for _, row := range []struct {
		dir, name string
		want      bool
	}{
		{"real", "real/below", true},
		{"real", "real/below/not/there/yet", true},
		{"link", "real/below", true},
		{"real", "link/new", true},
		{"real", "link", false},
		{"real", "real", false},
		{"real/below", "real", false},
		{"real", "realm", false},
		{"real", "real/../other", false},
		{"real", "real/a\nb", false},
	} {
		require.Equal(t, row.want, term.PathWithin(at(row.dir), at(row.name)), "%v", row)
	}
	place, ok := term.PathInside(term.ResolvePath(dir), at("link/new"))
	require.True(t, ok)
	require.Equal(t, "real/new", place)
	require.True(t, term.AbsentPath(at("real/new")))
	require.False(t, term.AbsentPath(at("link")))
}

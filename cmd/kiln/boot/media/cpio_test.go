package media

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/need"
)

var packed = []archiveFile{
	{"config.ign", 0o600, []byte(`{"ignition":{"version":"3.4.0"}}`)},
	{"usr/share/oem/config.ign", 0o600, []byte("odd")},
	{"usr/share/oem/empty", 0o644, nil},
	{"etc/x", 0o755, bytes.Repeat([]byte{0, 1, 0xff}, 5000)},
}

// programReads has a program of another project read an archive, and returns what it prints. It
// skips the test if the program is not here.
func programReads(t *testing.T, archive []byte, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(need.Program(t, name), args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(archive)
	cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C")
	var messages bytes.Buffer
	cmd.Stderr = &messages
	out, err := cmd.Output()
	require.NoError(t, err, messages.String())
	return string(out)
}

// TestReadBack unpacks archives with GNU cpio and with libarchive.
func TestReadBack(t *testing.T) {
	t.Parallel()
	archive, err := cpio(packed)
	require.NoError(t, err)
	require.Zero(t, len(archive)%4)
	for _, command := range [][]string{
		{"cpio", "-i", "--quiet", "--no-absolute-filenames"},
		{"bsdtar", "-xp", "--no-same-owner", "-f", "-"},
	} {
		t.Run(command[0], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			programReads(t, archive, dir, command[0], command[1:]...)
			for _, f := range packed {
				got, err := os.ReadFile(filepath.Join(dir, f.Path))
				require.NoError(t, err)
				require.Equal(t, string(f.Data), string(got))
			}
		})
	}
	t.Run("list", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, `-rw-------   1 0        0              32 Jan  1  1970 config.ign
drwxr-xr-x   2 0        0               0 Jan  1  1970 usr
drwxr-xr-x   2 0        0               0 Jan  1  1970 usr/share
drwxr-xr-x   2 0        0               0 Jan  1  1970 usr/share/oem
-rw-------   1 0        0               3 Jan  1  1970 usr/share/oem/config.ign
-rw-r--r--   1 0        0               0 Jan  1  1970 usr/share/oem/empty
drwxr-xr-x   2 0        0               0 Jan  1  1970 etc
-rwxr-xr-x   1 0        0           15000 Jan  1  1970 etc/x
`, programReads(t, archive, t.TempDir(), "cpio", "-itvn", "--quiet"))
	})
}

// TestStable: an archive is the same wherever and whenever it is made.
func TestStable(t *testing.T) {
	t.Parallel()
	archive, err := cpio(packed)
	require.NoError(t, err)
	sum := sha256.Sum256(archive)
	require.Equal(t, "cff54fe19dd5d210def74982adba90e33f6aea9757574bdf86b76d5776c875cc",
		hex.EncodeToString(sum[:]))
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		packed []archiveFile
		want   string
	}{
		{"absolute", []archiveFile{{"/a", 0o600, nil}}, `file "/a": not a relative, clean path`},
		{"upwards", []archiveFile{{"../a", 0o600, nil}}, "not a relative, clean path"},
		{"empty", []archiveFile{{"", 0o600, nil}}, "not a relative, clean path"},
		{"twice", []archiveFile{{"a", 0o600, nil}, {"a", 0o600, nil}}, "the path is used twice"},
		{
			"below a file", []archiveFile{{"a", 0o600, nil}, {"a/b/c", 0o600, nil}},
			`the folder "a" above it is a file`,
		},
		{"also a folder", []archiveFile{{"a/b", 0o600, nil}, {"a", 0o600, nil}},
			"the path is used twice"},
		{"mode", []archiveFile{{"a", 0o4755, nil}}, "more than permission bits"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := cpio(row.packed)
			require.ErrorContains(t, err, row.want)
		})
	}
}

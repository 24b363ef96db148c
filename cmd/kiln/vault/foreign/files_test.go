package foreign

import (
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFiles: certificates come from files and folders, in PEM and in nothing else. Each file that
// cannot be used has its own line, and none is quoted.
func TestFiles(t *testing.T) {
	t.Parallel()
	block := func(kind string, headers map[string]string) string {
		return string(pem.EncodeToMemory(&pem.Block{
			Type: kind, Headers: headers, Bytes: []byte("S3CRET"),
		}))
	}
	one := block("CERTIFICATE", nil)
	encrypted := map[string]string{"Proc-Type": "4,ENCRYPTED"}
	for name, row := range map[string]struct {
		text   string
		blocks int
		want   string // none if the file is taken
	}{
		"one":               {text: one, blocks: 1},
		"several":           {text: one + one + one, blocks: 3},
		"text around":       {text: "Certificate:\n" + one + "bye\n", blocks: 1},
		"empty":             {text: "", want: "no whole PEM block CERTIFICATE"},
		"DER":               {text: "\x30\x82\x01\x00", want: "turns DER into it"},
		"cut off":           {text: one + one[:40], want: "no whole PEM block CERTIFICATE"},
		"a request":         {text: block("CERTIFICATE REQUEST", nil), want: "a request"},
		"an old request":    {text: block("NEW CERTIFICATE REQUEST", nil), want: "a request"},
		"a key":             {text: one + block("EC PRIVATE KEY", nil), want: "a private key"},
		"an encrypted key":  {text: block("ENCRYPTED PRIVATE KEY", nil), want: "a private key"},
		"encrypted":         {text: block("CERTIFICATE", encrypted), want: "no plain certificate"},
		"PKCS #7":           {text: block("PKCS7", nil), want: "openssl pkcs7 -print_certs"},
		"a revocation list": {text: block("X509 CRL", nil), want: "no plain certificate"},
		"huge":              {text: strings.Repeat("#", maxFile+1), want: "larger than 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.crt")
			require.NoError(t, os.WriteFile(path, []byte(row.text), 0o600))
			for _, given := range []string{path, filepath.Dir(path)} {
				blocks, errs := readAll([]string{given})
				require.Len(t, blocks, row.blocks)
				if row.want == "" {
					require.Empty(t, errs)
					continue
				}
				require.Len(t, errs, 1)
				require.ErrorContains(t, errs[0], path+": ")
				require.ErrorContains(t, errs[0], row.want)
				require.NotContains(t, errs[0].Error(), "S3CRET")
			}
		})
	}
}

// TestFolders: a folder is read with the folders below it, in the order of names. A link to a file
// is followed, one to a folder is not, and nothing waits for a pipe or reads a device.
func TestFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1}})
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "b"), 0o700))
	for _, name := range []string{"b/2.PEM", "a.cer", "c.crt", "c.csr", "list.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), one, 0o600))
	}
	require.NoError(t, os.Symlink("c.crt", filepath.Join(dir, "d.crt")))
	require.NoError(t, os.Symlink("b", filepath.Join(dir, "e")))
	blocks, errs := readAll([]string{dir})
	require.Empty(t, errs)
	var from []string
	for _, b := range blocks {
		name, err := filepath.Rel(dir, b.from)
		require.NoError(t, err)
		from = append(from, name)
	}
	require.Equal(t, []string{"a.cer", "b/2.PEM", "c.crt", "d.crt"}, from)

	large := filepath.Join(dir, "large\n.crt")
	require.NoError(t, os.WriteFile(large, append(one, make([]byte, maxFile-len(one))...), 0o600))
	_, errs = readAll(slices.Repeat([]string{large}, maxAll/maxFile))
	require.Empty(t, errs)
	_, errs = readAll(slices.Repeat([]string{large}, maxAll/maxFile+1))
	require.Len(t, errs, 1)
	require.ErrorContains(t, errs[0], `large\u000a.crt: more than 64 MiB`)

	empty := t.TempDir()
	_, errs = readAll([]string{empty, filepath.Join(empty, "absent")})
	require.Len(t, errs, 2)
	require.ErrorContains(t, errs[0], "no file there ends in .crt, .pem, .cer")
	require.ErrorIs(t, errs[1], os.ErrNotExist)

	require.NoError(t, syscall.Mkfifo(filepath.Join(empty, "p.crt"), 0o600))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(empty, "z.crt")))
	_, errs = readAll([]string{empty})
	require.Len(t, errs, 2)
	for _, err := range errs {
		require.ErrorContains(t, err, "not a regular file")
	}
}

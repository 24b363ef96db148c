package vault_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/vault"
)

// key makes an identity in a file, and returns its recipient.
func key(t testing.TB, dir string) (path, recipient string) {
	t.Helper()
	i, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	path = filepath.Join(dir, "key")
	require.NoError(t, os.WriteFile(path, []byte(i.String()+"\n"), 0o600))
	return path, i.Recipient().String()
}

// TestSealOpen: what is sealed opens with each of its identities, and is text.
func TestSealOpen(t *testing.T) {
	t.Parallel()
	one, to1 := key(t, t.TempDir())
	two, to2 := key(t, t.TempDir())
	lock := vault.Lock{Recipients: []string{to1, to2}}
	sealed, err := lock.Seal([]byte("hunter2"))
	require.NoError(t, err)
	require.True(t, vault.IsEncrypted(sealed))
	require.NotContains(t, string(sealed), "hunter2")
	for _, path := range []string{one, two} {
		plain, opened, err := (&vault.Keys{Path: path}).Open("x", sealed)
		require.NoError(t, err)
		require.Equal(t, "hunter2", string(plain))
		require.True(t, opened.None(), "the file does not name its recipients")
	}
	other, _ := key(t, t.TempDir())
	_, _, err = (&vault.Keys{Path: other}).Open("x", sealed)
	require.ErrorContains(t, err, "x: encrypted to others")
	var none *vault.Keys
	_, _, err = none.Open("x", sealed)
	require.ErrorContains(t, err, "x: encrypted with age; name the file")
	_, err = (&vault.Lock{}).Seal([]byte("hunter2"))
	require.ErrorContains(t, err, "there are no recipients")
}

// TestOpenCut: no beginning of a file opens, and none panics.
func TestOpenCut(t *testing.T) {
	t.Parallel()
	path, to := key(t, t.TempDir())
	lock := vault.Lock{Recipients: []string{to}}
	sealed, err := lock.Seal(bytes.Repeat([]byte("hunter2 "), 40))
	require.NoError(t, err)
	keys := &vault.Keys{Path: path}
	for n := range len(sealed) - len("\n") {
		_, _, err := keys.Open("x", sealed[:n])
		require.ErrorContains(t, err, "x: ", n)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// FuzzOpen: no file panics or opens but the one that was sealed.
func FuzzOpen(f *testing.F) {
	path, to := key(f, f.TempDir())
	lock := vault.Lock{Recipients: []string{to}}
	sealed, err := lock.Seal([]byte("hunter2"))
	require.NoError(f, err)
	f.Add(sealed)
	f.Add([]byte("age-encryption.org/v1\n-> X25519 x\n"))
	f.Add([]byte("age-encryption.org/v1\n-> grease\n\n--- x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(data, []byte("scrypt")) {
			return // it would ask on the terminal
		}
		plain, _, err := (&vault.Keys{Path: path}).Open("x", data)
		if err == nil {
			require.Equal(t, "hunter2", string(plain))
		}
	})
}

// TestManyStanzas: a header full of recipients is refused or read in a moment.
func TestManyStanzas(t *testing.T) {
	t.Parallel()
	path, to := key(t, t.TempDir())
	lock := vault.Lock{Recipients: []string{to}}
	sealed, err := lock.Seal([]byte("x"))
	require.NoError(t, err)
	require.Less(t, len(sealed), 1000)
	share := strings.Repeat("A", 43)
	stanza := "-> X25519 " + share + "\n" + share + "\n"
	file := "age-encryption.org/v1\n" + strings.Repeat(stanza, (2<<20)/len(stanza)-1) +
		"--- " + share + "\n" + strings.Repeat("x", 16)
	_, _, err = (&vault.Keys{Path: path}).Open("x", []byte(file))
	require.Error(t, err)
}

// TestKeysPrintNothing: the holder of identities shows none of them, whatever prints it.
func TestKeysPrintNothing(t *testing.T) {
	t.Parallel()
	path, to := key(t, t.TempDir())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	secret := strings.TrimSpace(string(content))[len("AGE-SECRET-KEY-1"):]
	lock := vault.Lock{Recipients: []string{to}}
	sealed, err := lock.Seal([]byte("x"))
	require.NoError(t, err)
	keys := &vault.Keys{Path: path}
	_, opened, err := keys.Open("x", sealed)
	require.NoError(t, err)
	encoded, err := json.Marshal([]any{keys, opened})
	require.NoError(t, err)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "keys", keys, "lock", opened)
	for _, text := range []string{
		fmt.Sprintf("%v %+v %#v %s %q %x", keys, keys, keys, keys, keys, keys),
		fmt.Sprintf("%v %+v %#v", *keys, *keys, *keys), string(encoded), log.String(),
	} {
		require.NotContains(t, strings.ToUpper(text), secret)
	}
}

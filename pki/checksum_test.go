package pki_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
)

// TestChecksum: one wrong letter in a key that nothing else verifies is found, and in the UUID and
// the time of issue. Generations, which
// operators edit, are no part of the checksum, and a bundle without one is valid.
func TestChecksum(t *testing.T) {
	t.Parallel()
	old, err := os.ReadFile(filepath.Join(fixture, "bundle", "secrets.yaml"))
	require.NoError(t, err)
	require.NotContains(t, string(old), "\nchecksum: ")
	b, err := pki.Load(old)
	require.NoError(t, err)
	data, err := b.Marshal()
	require.NoError(t, err)
	good := string(data)

	// slip returns the bundle with another letter at the beginning of a value.
	slip := func(key string) string {
		value := line(data, key+": ")
		letter := "A"
		if strings.HasPrefix(value, letter) {
			letter = "B"
		}
		return strings.Replace(good, key+": "+value, key+": "+letter+value[1:], 1)
	}
	other, err := private.NewKey(private.P256)
	require.NoError(t, err)
	swapped := *b
	swapped.ServiceAccountKey = other
	text, err := swapped.Marshal()
	require.NoError(t, err)
	sum := "checksum: " + line(data, "checksum: ")
	_, after, _ := strings.Cut(string(text), "\nserviceAccountKey:")
	before, _, _ := strings.Cut(good, "\nserviceAccountKey:")
	for name, wrong := range map[string]string{
		"encryptionKey":     slip("encryptionKey"),
		"leafSeed":          slip("leafSeed"),
		"serviceAccountKey": before + "\nserviceAccountKey:" + after,
		"cluster":           strings.Replace(good, "cluster: 22b3", "cluster: 22b4", 1),
		"issued":            strings.Replace(good, `"2026-01-01T00`, `"2026-01-01T01`, 1),
		"the line itself":   strings.Replace(good, sum, "checksum: 0123456789abcdef", 1),
	} {
		require.NotEqual(t, good, wrong, name)
		_, err := pki.Load([]byte(wrong))
		require.ErrorContains(t, err, "checksum: not that of the keys beside it", name)
		_, err = pki.Load([]byte(strings.Replace(wrong, "\nchecksum: ", "\n#", 1)))
		require.NoError(t, err, name)
	}
	// That of an earlier release is of the keys alone.
	const keys = "checksum: f62119cbc24b90a0"
	_, err = pki.Load([]byte(strings.Replace(good, sum, keys, 1)))
	require.NoError(t, err)

	edited, err := pki.Load([]byte(good + "generations: {admin: 2}\n"))
	require.NoError(t, err)
	require.Equal(t, 2, edited.Generations["admin"])
}

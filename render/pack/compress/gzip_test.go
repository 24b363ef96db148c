package compress_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/pack/compress"
)

func FuzzGzip(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("#cloud-config\n"))
	f.Add(bytes.Repeat([]byte{0x1f, 0x8b}, 1000))
	f.Fuzz(func(t *testing.T, doc []byte) {
		packed := compress.Gzip(doc)
		require.Equal(t, packed, compress.Gzip(doc), "equal documents, equal bytes")
		plain, err := compress.Gunzip(packed)
		require.NoError(t, err)
		require.True(t, bytes.Equal(doc, plain))
		// Gunzip ends with an error or a document, whatever it is given.
		_, _ = compress.Gunzip(doc)
		if len(packed) > 10 {
			_, err = compress.Gunzip(packed[:len(packed)-1])
			require.Error(t, err, "cut off")
		}
	})
}

// TestBreaks: a document with breaks unpacks to the same, wherever they are, and is smaller if they
// are where the text changes.
func TestBreaks(t *testing.T) {
	t.Parallel()
	random := make([]byte, 9000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random)
	doc := "first:" + hex.EncodeToString(random[:4000]) +
		"second:" + base64.StdEncoding.EncodeToString(random[4000:])
	whole := compress.Gzip([]byte(doc))
	for _, breaks := range [][]string{
		{"second:"}, {"first:"}, {"none"}, {""}, {"second:", "first:"}, {"second:", "second:"},
		{"none", "second:"},
	} {
		packed := compress.Gzip([]byte(doc), breaks...)
		plain, err := compress.Gunzip(packed)
		require.NoError(t, err, "%q", breaks)
		require.Equal(t, doc, string(plain), "%q", breaks)
		if slices.Contains(breaks, "second:") {
			require.Less(t, len(packed), len(whole)-100, "%q", breaks)
		} else {
			require.Equal(t, whole, packed, "%q", breaks)
		}
	}
}

func TestBomb(t *testing.T) {
	t.Parallel()
	_, err := compress.Gunzip(compress.Gzip(make([]byte, compress.MaxDocument+1)))
	require.ErrorContains(t, err, "larger than")
}

package compress_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render/compress"
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

func TestBomb(t *testing.T) {
	t.Parallel()
	_, err := compress.Gunzip(compress.Gzip(make([]byte, compress.MaxDocument+1)))
	require.ErrorContains(t, err, "larger than")
}

package compress_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render/compress"
)

func FuzzDense(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("a"))
	f.Add([]byte("aaa"))
	f.Add(bytes.Repeat([]byte("kubelet "), 900))
	f.Add(bytes.Repeat([]byte{0}, 7000))
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	f.Add(every)
	f.Fuzz(func(t *testing.T, doc []byte) {
		packed := compress.Dense(doc)
		plain, err := compress.Gunzip(packed)
		require.NoError(t, err)
		require.True(t, bytes.Equal(doc, plain))
		require.Equal(t, packed, compress.Dense(doc), "equal documents, equal bytes")
	})
}

// texts are the scripts of the hook, of which documents mostly are.
func texts(t testing.TB) []byte {
	var doc []byte
	names, err := filepath.Glob("../../templates/boot/*")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		text, err := os.ReadFile(name) // #nosec G304 -- the repository's
		require.NoError(t, err)
		doc = append(doc, text...)
	}
	return doc
}

func TestDenseIsSmaller(t *testing.T) {
	t.Parallel()
	doc := texts(t)
	gzip, dense := len(compress.Gzip(doc)), len(compress.Dense(doc))
	require.LessOrEqual(t, float64(dense), 0.96*float64(gzip), "%d bytes, and with Gzip %d", dense, gzip)
}

// TestDenseIsGzip asks another implementation.
func TestDenseIsGzip(t *testing.T) {
	t.Parallel()
	gunzip, err := exec.LookPath("gzip")
	if err != nil {
		t.Skip("there is no gzip")
	}
	random := make([]byte, 1000)
	for i := range random {
		random[i] = byte(i * i * 31 >> 3)
	}
	for _, doc := range [][]byte{nil, []byte("k"), texts(t), random, bytes.Repeat(texts(t), 3)} {
		cmd := exec.Command(gunzip, "-dc") // #nosec G204 -- found above
		cmd.Stdin = bytes.NewReader(compress.Dense(doc))
		plain, err := cmd.Output()
		require.NoError(t, err)
		require.True(t, bytes.Equal(doc, plain))
	}
}

// TestDenseStays notices bytes that change: documents of today have to come out the same tomorrow.
func TestDenseStays(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256(compress.Dense(bytes.Repeat([]byte("a kubelet, an API server and etcd\n"), 500)))
	require.Equal(t, "b8038e990699dfb3dcbf3f131c882c07655cef3587ed649ef7500db060dcc860", hex.EncodeToString(sum[:]))
}

func BenchmarkCompress(b *testing.B) {
	for name, compress := range map[string]func([]byte) []byte{"Gzip": compress.Gzip, "Dense": compress.Dense} {
		b.Run(name, func(b *testing.B) {
			doc := texts(b)
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				compress(doc)
			}
		})
	}
}

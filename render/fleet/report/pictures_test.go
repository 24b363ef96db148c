package report_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/fleet/report"
)

// demoTo is where TestDemo writes the page of the demo. test/page makes pictures of it.
var demoTo = flag.String("demo", "", "write the page of the demo to this `FILE`")

// pictures is the folder of the pictures. Its file page.sha256 has the sum of the page that they
// show.
const pictures = "../../../docs/report"

// TestDemo: the pictures in docs show the page as it is today. Another font changes no sum: it is
// that of the page, not of the pictures.
func TestDemo(t *testing.T) {
	t.Parallel()
	page, err := report.Page(demo(t))
	require.NoError(t, err)
	if *demoTo != "" {
		require.NoError(t, os.WriteFile(*demoTo, page, 0o600))
		return
	}
	sum := sha256.Sum256(page)
	made, err := os.ReadFile(filepath.Join(pictures, "page.sha256"))
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(sum[:]), strings.TrimSpace(string(made)),
		"the pictures in docs/report are older than the page: make pictures")
	files, err := filepath.Glob(filepath.Join(pictures, "*.png"))
	require.NoError(t, err)
	require.Len(t, files, 4)
	text, err := os.ReadFile("../../../docs/report.md")
	require.NoError(t, err)
	const most = 150 << 10
	for _, path := range files {
		picture, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "\x89PNG\r\n", string(picture[:6]), path)
		require.Less(t, len(picture), most, path)
		require.Contains(t, string(text), "](report/"+filepath.Base(path)+")")
	}
}

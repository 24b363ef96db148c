package term

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/need"
)

// TestIsolate: after Process, a library reaches neither the network nor a program, and git still
// runs. The test starts a process of its own, because Process changes the whole process.
func TestIsolate(t *testing.T) {
	if url := os.Getenv("KILN_TEST_URL"); url != "" {
		IsolateProcess()
		_, err := http.Get(url) //nolint:gosec,noctx // a listener of the test
		_, found := exec.LookPath("git")
		out, works := Command(t.Context(), "git", "version").Output()
		fmt.Printf("asked: %v\nfound: %v\ngit: %.11s %v\n", err != nil, found == nil, out, works)
		return
	}
	t.Parallel()
	need.Program(t, "git")
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked = true
	}))
	defer server.Close()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestIsolate$", "-test.v")
	cmd.Env = append(os.Environ(), "KILN_TEST_URL="+server.URL)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "asked: true\nfound: false\ngit: git version <nil>\n")
	require.False(t, asked)
}

package serve_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/serve"
)

// TestFullState: a document that could not be remembered is not given, and an alarm says so. Pools
// leave half of the room to the machines that have a name.
func TestFullState(t *testing.T) {
	t.Parallel()
	var fetches []string
	for i := range 17 { // MiB
		fetches = append(fetches, fmt.Sprintf(`{"path":"/pools/small/user-data",`+
			`"machine":"%d %s","sha256":"ab"}`, i, strings.Repeat("x", 1<<20)))
	}
	path := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `{"apiVersion":`+
		`"kiln.dev/v1alpha1","kind":"Served","cluster":`+
		`"11111111-2222-4333-8444-555555555555","fetches":[%s]}`,
		strings.Join(fetches, ",")), 0o600))
	r := start(t, example(t), func(o *serve.Options) { o.State = path })
	status, _ := r.get(t, "/pools/small/user-data")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, r.warnings.String(), "pools/small/user-data: not given to 127.0.0.1, "+
		"because no room is left to remember it")
	require.Equal(t, []string{
		"asked for and not given, because the list of fetched documents is full: 1",
	}, r.Alarms())
	r.requireGiven(t, "/cp-1/config.ign", `{"one":1}`)
	r.requireRefused(t, "/cp-1/config.ign")
}

package serve_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/serve"
)

// takeAll reads the whole answer from an address, and resets the connection instead of closing it.
func (r *running) takeAll(t *testing.T, from, path string) (answer string) {
	t.Helper()
	conn := r.dial(t, from)
	_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path)
	require.NoError(t, err)
	text, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).SetLinger(0))
	require.NoError(t, conn.Close())
	return string(text)
}

// TestUnconfirmedPool: a client that reads the whole document of a pool and resets the connection
// counts as one machine of the pool, over restarts too. The same machine at the same address may
// ask again. The alarms name every address.
func TestUnconfirmedPool(t *testing.T) {
	t.Parallel()
	dir := cluster(t)
	const path = "/pools/small/user-data"
	limited := func(o *serve.Options) { o.PoolLimit = 2 }
	r := start(t, dir, limited)
	disclosed := 0
	for i := range 5 {
		answer := r.takeAll(t, fmt.Sprintf("127.0.0.%d", 11+i), path+"?uuid=1")
		if i >= 2 {
			require.True(t, strings.HasPrefix(answer, "HTTP/1.1 404"), answer)
			continue
		}
		require.Contains(t, answer, "a pool's")
		disclosed++
		r.requireDecisions(t, "disclosed", disclosed)
	}
	for i := range 2 {
		require.Contains(t, r.warnings.String(), fmt.Sprintf("pools/small/user-data: all 8 bytes "+
			"were sent to 127.0.0.%d, which did not confirm them: it can be fetched again; if "+
			"127.0.0.%[1]d is not the machine, the secrets in what was sent are known; this "+
			"counts as a machine of the pool; addresses that did so until now: %d\n", 11+i, i+1))
	}
	require.Contains(t, r.warnings.String(), "pools/small/user-data: 2 machines have it (2 did "+
		"not confirm it), and 127.0.0.13 asks as another one")
	require.Contains(t, r.Left(), "small")
	require.NoError(t, r.stop())

	r = start(t, dir, limited)
	status, _ := r.from(t, "127.0.0.13", path+"?uuid=1")
	require.Equal(t, http.StatusNotFound, status)
	status, body := r.from(t, "127.0.0.11", path+"?uuid=1")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "a pool's", body)
	r.requireLogged(t, map[string]any{"decision": "served"})
	require.NotContains(t, r.Left(), "small")
	status, _ = r.from(t, "127.0.0.13", path+"?uuid=2")
	require.Equal(t, http.StatusNotFound, status)
}

// requireDecisions waits for a number of lines with a decision.
func (r *running) requireDecisions(t *testing.T, decision string, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		return strings.Count(r.log.String(), `"decision":"`+decision+`"`) == n
	}, 5*time.Second, 5*time.Millisecond, "%s", r.log)
}

// TestFullPoolReadsNothing: a client that asks as one more machine of a pool makes the server read
// no document.
func TestFullPoolReadsNothing(t *testing.T) {
	t.Parallel()
	dir := cluster(t)
	r := start(t, dir, func(o *serve.Options) { o.PoolLimit = 1 })
	const path = "/pools/small/user-data"
	r.requireGiven(t, path+"?uuid=1", "a pool's")
	r.requireLogged(t, map[string]any{"decision": "served"})
	require.NoError(t, os.Remove(filepath.Join(dir, "pools/small/user-data")))
	r.requireRefused(t, path+"?uuid=2", path+"?uuid=3")
}

// TestCutOffLines: clients that leave before a byte is sent cause no more lines than strangers.
func TestCutOffLines(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	require.Eventually(t, func() bool { // the window is open: these requests wait for no listener
		return strings.Contains(r.log.String(), `"event":"start"`)
	}, 10*time.Second, time.Millisecond, "%s", r.log)
	for range 1200 {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet,
			"/cp-1/config.ign", nil)
		r.ServeHTTP(httptest.NewRecorder(), request)
	}
	var lines int
	require.Eventually(t, func() bool { // they are written beside the answers
		lines = strings.Count(r.log.String(), `"decision":"cut off"`)
		return lines > 0
	}, 10*time.Second, 10*time.Millisecond, "%s", r.log)
	require.Less(t, lines, 1150)
	require.Positive(t, r.LostLines())
}

package serve_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/serve"
	"kiln.dev/kiln/render"
)

// big returns a folder of two machines, of which one has a large document.
func big(t *testing.T) string {
	return renderedFolder(t, []render.Entry{
		{Node: "big", Document: "big/config.ign"}, {Node: "small", Document: "small/config.ign"},
	}, map[string]string{"big/config.ign": large, "small/config.ign": "tiny"})
}

// TestCutOff: a transfer that ends early does not count, even if the server has sent everything.
// The client may have what was sent, so it is a disclosure, and the machine can ask again.
func TestCutOff(t *testing.T) {
	t.Parallel()
	dir := big(t)
	r := start(t, dir, nil)
	for _, path := range []string{"/big/config.ign", "/small/config.ign"} {
		conn := r.ask(t, "127.0.0.1", path)
		_, err := io.ReadFull(conn, make([]byte, 20))
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		r.requireLogged(t, map[string]any{"path": path, "decision": "disclosed"})
	}
	const then = "it can be fetched again; if 127.0.0.1 is not the machine, the secrets in what " +
		"was sent are known\n"
	require.Regexp(t, `^big/config.ign: \d+ of 8388608 bytes were sent to 127.0.0.1, which did `+
		"not confirm them: "+then+
		"small/config.ign: all 4 bytes were sent to 127.0.0.1, which did not confirm them: "+then+
		"$", r.warnings.String())
	require.Equal(t, []string{
		"sent and not confirmed, so that somebody may have a part or all of it: 2",
	}, r.Alarms())
	require.Len(t, r.Left(), 2)
	r.requireGiven(t, "/big/config.ign", large)
	r.requireGiven(t, "/small/config.ign", "tiny")
	r.requireRefused(t, "/big/config.ign", "/small/config.ign")
}

// TestKilled: a server that ends in the middle of a transfer leaves no trace of it, and the next
// server gives the document.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := big(t)
	first := start(t, dir, nil)
	conn := first.ask(t, "127.0.0.1", "/big/config.ign")
	_, err := io.ReadFull(conn, make([]byte, 1000))
	require.NoError(t, err)
	// The first server hangs in its transfer. While it lives, no other one may have its state; what
	// it would leave is on disk.
	state := filepath.Join(dir, "served.json")
	_, err = serve.New([]string{dir}, serve.Options{State: state, Window: time.Hour})
	require.EqualError(t, err, state+": another kiln serve uses this state; end that one first")
	left, err := os.ReadFile(state)
	require.NoError(t, err)
	copied := filepath.Join(t.TempDir(), "served.json")
	require.NoError(t, os.WriteFile(copied, left, 0o600))
	second := start(t, dir, func(o *serve.Options) { o.State = copied })
	second.requireGiven(t, "/big/config.ign", large)
	require.NoError(t, conn.Close())
	require.NoError(t, first.stop())
	require.NoError(t, second.stop())
	next := start(t, dir, func(o *serve.Options) { o.State = copied })
	require.Equal(t, []string{"small"}, next.Left())
}

// TestLeaving: a transfer that is open when the server has to end is finished, and counts. No new
// client is let in.
func TestLeaving(t *testing.T) {
	t.Parallel()
	dir := big(t)
	r := start(t, dir, nil)
	answer, err := http.Get(r.url + "/big/config.ign")
	require.NoError(t, err)
	_, err = io.ReadFull(answer.Body, make([]byte, 1000))
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- r.stop() }()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", r.address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, 5*time.Second, 5*time.Millisecond)
	rest, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Len(t, rest, len(large)-1000)
	require.NoError(t, <-ended)
	require.Equal(t, []string{"small"}, start(t, dir, nil).Left())
}

// TestLeavingUnconfirmed: a client that takes a whole document, and holds the connection until the
// server has ended, is in the log, in the alarms and in what is left.
func TestLeavingUnconfirmed(t *testing.T) {
	t.Parallel()
	dir := renderedFolder(t, []render.Entry{
		{Node: "a", Document: "a/config.ign"},
	}, map[string]string{"a/config.ign": "secret"})
	r := start(t, dir, nil)
	text, err := io.ReadAll(r.ask(t, "127.0.0.1", "/a/config.ign"))
	require.NoError(t, err)
	require.Contains(t, string(text), "secret")
	require.NoError(t, r.stop())
	require.Contains(t, r.warnings.String(), "a/config.ign: all 6 bytes were sent to 127.0.0.1")
	require.Contains(t, r.log.String(), `"decision":"disclosed"`)
	require.Len(t, r.Left(), 1)
}

// TestRace: if many clients ask for one document at the same time, one of them gets it.
func TestRace(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	var group sync.WaitGroup
	got := make(chan int, 20)
	for range cap(got) {
		group.Go(func() {
			if answer, err := http.Get(r.url + "/cp-1/config.ign"); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				got <- answer.StatusCode
			}
		})
	}
	group.Wait()
	close(got)
	statuses := map[int]int{}
	for status := range got {
		statuses[status]++
	}
	require.Equal(t, map[int]int{http.StatusOK: 1, http.StatusNotFound: 19}, statuses)
}

// TestWaiting: a client that asks during another transfer of the document waits for its end, and
// gets the document if that transfer is cut off.
func TestWaiting(t *testing.T) {
	t.Parallel()
	dir := big(t)
	r := start(t, dir, nil)
	first := r.ask(t, "127.0.0.1", "/big/config.ign")
	_, err := io.ReadFull(first, make([]byte, 1000))
	require.NoError(t, err)

	gone, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	request, err := http.NewRequestWithContext(gone, http.MethodGet, r.url+"/big/config.ign", nil)
	require.NoError(t, err)
	_, err = http.DefaultClient.Do(request)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	r.requireLogged(t, map[string]any{
		"decision": "failed", "status": 503.0,
		"reason": "another transfer of the document is under way",
	})

	got := make(chan string, 1)
	go func() {
		_, body := r.get(t, "/big/config.ign")
		got <- body
	}()
	// the client most probably waits by then; the result is the same if not
	time.Sleep(50 * time.Millisecond)
	require.NoError(t, first.Close())
	require.Len(t, <-got, len(large))
	r.requireRefused(t, "/big/config.ign")
}

// TestMany: two hundred machines that are switched on together get their documents, each its own.
func TestMany(t *testing.T) {
	t.Parallel()
	const machines = 200
	var entries []render.Entry
	files := map[string]string{}
	for i := range machines {
		name := fmt.Sprintf("m-%d", i)
		entries = append(entries, render.Entry{Node: name, Document: name + "/config.ign"})
		files[name+"/config.ign"] = strings.Repeat(name+" ", 20_000)
	}
	dir := renderedFolder(t, entries, files)
	r := start(t, dir, nil)
	errs := make(chan error, machines)
	for _, e := range entries {
		go func() {
			client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{}}
			answer, err := client.Get(r.url + "/" + e.Document)
			if err != nil {
				errs <- err
				return
			}
			body, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			whole := answer.StatusCode == http.StatusOK && string(body) == files[e.Document]
			if err == nil && !whole {
				err = fmt.Errorf("%s: status %d, %d bytes", e.Node, answer.StatusCode, len(body))
			}
			errs <- err
		}()
	}
	for range machines {
		require.NoError(t, <-errs)
	}
	require.NoError(t, r.stop())
	require.Empty(t, r.Left())
	require.Empty(t, start(t, dir, nil).Left(), "on disk too")
}

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

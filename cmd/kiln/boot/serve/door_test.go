package serve_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/serve"
)

// slow opens a connection, sends the beginning of a request with a body, and no more.
func (r *running) slow(t *testing.T, line, header string) net.Conn {
	t.Helper()
	conn := r.dial(t, "127.0.0.1")
	_, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\nx", line, header)
	require.NoError(t, err)
	return conn
}

// requireClosed waits until the server has closed the connections, and returns their answers.
func requireClosed(t *testing.T, conns []net.Conn, within time.Duration) (answers []string) {
	t.Helper()
	end := time.Now().Add(within)
	for i, conn := range conns {
		require.NoError(t, conn.SetReadDeadline(end))
		answer, err := io.ReadAll(conn)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "connection %d: %s", i, answer)
		answers = append(answers, string(answer))
	}
	return answers
}

// TestSlowBodies: a request whose body does not come is answered, and its connection is closed, in
// the time that a body has, whatever the answer is.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	dir, _ := announcing(t, 1, "")
	write(t, dir, map[string]string{"boot.ipxe": "#!ipxe\n"})
	r := startChanged(t, dir, nil, func(s *serve.Server) { s.SetBounds(time.Second, 1024) })
	const announces = "/announce/worker-1"
	for name, row := range map[string]struct{ line, header, want string }{
		"heard":               {"POST " + announces, "Content-Length: 9000", "503"},
		"too long":            {"POST " + announces, "Content-Length: 1000000000", "404"},
		"of unknown length":   {"POST " + announces, "Transfer-Encoding: chunked", "503"},
		"another method":      {"PUT " + announces, "Content-Length: 9000", "404"},
		"a GET with a body":   {"GET " + announces, "Content-Length: 9000", "200"},
		"another path":        {"POST /other", "Content-Length: 9000", "404"},
		"a document":          {"POST /worker-1/config.ign", "Content-Length: 9000", "404"},
		"a file for all":      {"GET /boot.ipxe", "Content-Length: 9000", "200"},
		"asks before sending": {"POST /other", "Expect: 100-continue\r\nContent-Length: 9", "404"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := requireClosed(t, []net.Conn{r.slow(t, row.line, row.header)}, 8*time.Second)
			answer := strings.TrimPrefix(answers[0], "HTTP/1.1 100 Continue\r\n\r\n")
			require.True(t, strings.HasPrefix(answer, "HTTP/1.1 "+row.want), answer)
		})
	}
}

// TestSlowPosts: 600 slow announcements at one address are closed in time, the 536 that are not
// heard too, and documents are given at once meanwhile, there and elsewhere.
func TestSlowPosts(t *testing.T) {
	t.Parallel()
	dir, _ := announcing(t, 1, "")
	const hearTime = 5 * time.Second
	r := startChanged(t, dir, nil, func(s *serve.Server) { s.SetBounds(hearTime, 1024) })
	began := time.Now()
	var conns []net.Conn
	for range 600 {
		conns = append(conns, r.slow(t, "POST /announce/worker-1", "Content-Length: 9000"))
	}
	asked := time.Now()
	status, _ := r.get(t, "/worker-1/config.ign")
	require.Equal(t, http.StatusOK, status)
	require.Less(t, time.Since(asked), hearTime, "it waits for no body")
	answers := requireClosed(t, conns, time.Minute)
	t.Logf("all were closed after %s", time.Since(began))
	for _, answer := range answers {
		require.True(t, strings.HasPrefix(answer, "HTTP/1.1 503"), answer)
		require.Contains(t, answer, "\r\nConnection: close\r\n")
	}
}

// TestLargePosts: one address has no more bytes of announcements in the memory of the server than
// its share, and no more is kept free for it.
func TestLargePosts(t *testing.T) {
	t.Parallel()
	dir, _ := announcing(t, 1, "")
	r := startChanged(t, dir, nil, func(s *serve.Server) { s.SetBounds(time.Hour, 1024) })
	var refused atomic.Int32
	for range 40 {
		conn := r.slow(t, "POST /announce/worker-1", "Content-Length: 131072")
		go func() {
			if _, err := io.ReadFull(conn, make([]byte, 12)); err == nil {
				refused.Add(1)
			}
		}()
	}
	const others = 40 - 4 // 512 KiB are heard
	require.Eventually(t, func() bool { return refused.Load() >= others }, time.Minute,
		10*time.Millisecond)
	require.Never(t, func() bool { return refused.Load() > others }, 500*time.Millisecond,
		10*time.Millisecond)
}

// TestConnections: an address has so many connections and no more, whatever they are used for, and
// others are not touched.
func TestConnections(t *testing.T) {
	t.Parallel()
	r := startChanged(t, example(t), nil, func(s *serve.Server) { s.SetBounds(time.Second, 5) })
	var conns []net.Conn
	for range 5 {
		conns = append(conns, r.dial(t, "127.0.0.1"))
		require.True(t, works(conns[len(conns)-1]))
	}
	require.False(t, works(r.dial(t, "127.0.0.1")))
	require.True(t, works(r.dial(t, "127.0.0.2")))
	r.requireLogged(t, map[string]any{
		"event": "connection", "remote": "127.0.0.1",
		"reason": "closed: its address has 5 connections",
	})
	for _, conn := range conns[1:] {
		require.NoError(t, conn.Close())
	}
	// The connections that a document or a refusal took are free again.
	http.DefaultClient.CloseIdleConnections()
	require.Eventually(t, func() bool { return works(r.dial(t, "127.0.0.1")) }, 5*time.Second,
		10*time.Millisecond)
}

// TestStrangersRoom: addresses that belong to nobody have few connections together, and those in a
// network of --from leave some to the machines' own addresses. A machine gets its document while
// the others hold all that they can have.
func TestStrangersRoom(t *testing.T) {
	t.Parallel()
	r := startChanged(t, cluster(t), only(t, "small=127.0.1.0/24"), func(s *serve.Server) {
		s.SetBounds(time.Second, 1024)
		s.SetRoom(16)
	})
	held := func(network string) (n int) {
		for i := range 20 {
			if works(r.dial(t, fmt.Sprintf("127.0.%s.%d", network, 10+i))) {
				n++
			}
		}
		return n
	}
	require.Equal(t, 4, held("9"), "a quarter")
	require.Equal(t, 10, held("1"), "all but an eighth")
	require.True(t, works(r.dial(t, "127.0.0.2")))
	status, body := r.from(t, "127.0.0.3", "/cp-1/user-data")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "a document", body)
	r.requireLogged(t, map[string]any{
		"event": "connection", "remote": "127.0.9.14",
		"reason": "closed: addresses that belong to no machine have 4 connections",
	})
	r.requireLogged(t, map[string]any{
		"event": "connection", "remote": "127.0.1.20",
		"reason": "closed: the server has 14 connections",
	})
	require.Equal(t, "too many connections from 127.0.9.14: closed: addresses that belong to no "+
		"machine have 4 connections\n", r.warnings.String())
	require.Equal(t, []string{
		"connections closed at once, because there were too many: 26",
	}, r.Alarms())
}

// TestOneStranger: an address that belongs to nobody has fewer connections than a machine's.
func TestOneStranger(t *testing.T) {
	t.Parallel()
	r := start(t, cluster(t), only(t))
	answered := 0
	for range 70 {
		if works(r.dial(t, "127.0.9.9")) {
			answered++
		}
	}
	require.Equal(t, 64, answered)
	require.True(t, works(r.dial(t, "127.0.9.10")))
}

// TestLargeHeader: a request has 8 KiB at most.
func TestLargeHeader(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	for size, want := range map[int]string{
		7 << 10: "HTTP/1.1 200", 9 << 10: "HTTP/1.1 431",
	} {
		conn := r.dial(t, "127.0.0.1")
		_, err := fmt.Fprintf(conn, "GET /boot.ipxe HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+
			"X: %s\r\n\r\n", strings.Repeat("x", size))
		require.NoError(t, err)
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		answer := make([]byte, len(want))
		_, err = io.ReadFull(conn, answer)
		require.NoError(t, err)
		require.Equal(t, want, string(answer), size)
	}
}

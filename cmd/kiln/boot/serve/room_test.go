package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/serve"
)

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

package serve_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
)

// TestEarlyEnd: a client that ends its side of the connection before it has the document confirms
// nothing by that, and neither does one that sends more than a request. busybox wget ends its side
// early, and counts when its system has everything.
func TestEarlyEnd(t *testing.T) {
	t.Parallel()
	document := strings.Repeat("0123456789", 13_000)
	dir := renderedFolder(t, []render.Entry{{Node: "cp-1", Document: "cp-1/config.ign"}},
		map[string]string{"cp-1/config.ign": document})
	r := start(t, dir, nil)
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		})
	}}
	dial := func() *net.TCPConn {
		conn, err := dialer.DialContext(t.Context(), "tcp", r.address)
		require.NoError(t, err)
		_, err = fmt.Fprint(conn, "GET /cp-1/config.ign HTTP/1.1\r\nHost: boot\r\n\r\n")
		require.NoError(t, err)
		return conn.(*net.TCPConn)
	}
	leave := map[string]func(*net.TCPConn) error{
		"ended": (*net.TCPConn).CloseWrite,
		"more": func(conn *net.TCPConn) error {
			_, err := conn.Write(bytes.Repeat([]byte("x"), 40_000))
			return err
		},
	}
	for name, end := range leave {
		conn := dial()
		require.NoError(t, end(conn), name)
		time.Sleep(100 * time.Millisecond) // the server most probably sees the end by then
		require.NoError(t, conn.SetLinger(0))
		require.NoError(t, conn.Close())
	}
	require.Eventually(t, func() bool {
		return strings.Count(r.log.String(), `"decision":"disclosed"`) == len(leave)
	}, 5*time.Second, 5*time.Millisecond, "%s", r.log)
	require.Equal(t, []string{"cp-1"}, r.Left())

	conn := dial()
	require.NoError(t, conn.CloseWrite())
	time.Sleep(100 * time.Millisecond)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.Contains(t, string(answer), document)
	r.requireLogged(t, map[string]any{"decision": "served"})
	require.Empty(t, r.Left())
}

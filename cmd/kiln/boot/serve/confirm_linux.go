package serve

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unconfirmed returns the number of bytes that were sent through a connection and that the client's
// system has not confirmed (SIOCOUTQ, tcp(7)). It fails if the connection was reset.
func unconfirmed(conn net.Conn) (n int, err error) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return 0, nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		var code int
		code, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		if failed == nil && code != 0 {
			failed = syscall.Errno(code)
		}
		if failed == nil {
			n, failed = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
		}
	})
	return n, errors.Join(err, failed)
}

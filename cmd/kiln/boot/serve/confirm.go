package serve

import (
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// Errors of a transfer. Unlike the errors of net, they hold no addresses.
var (
	// errCutOff comes if the client closes the connection too early.
	errCutOff = errors.New("the connection ended before the document did")
	// errUnconfirmed comes if the client does not close the connection in time.
	errUnconfirmed = errors.New("the document was sent, and its receiver did not close the " +
		"connection")
	// errMore comes if the client sends as much as a whole request after its request.
	errMore = errors.New("the document was sent, and its receiver sent more than a request")
)

// pollTime is the time between two looks at a connection whose client ended its side early.
const pollTime = 20 * time.Millisecond

// confirm waits until the client has ended its side of the connection and its system has taken
// everything. It fails if the client does not do so in time, or sends something instead.
//
// The end alone proves nothing: a client may end its side before it reads, as busybox wget does.
func confirm(conn net.Conn) error {
	end := time.Now().Add(confirmTime)
	_ = conn.SetDeadline(end) // if it cannot be set, the next read fails
	switch n, err := io.Copy(io.Discard, io.LimitReader(conn, maxHeader)); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errUnconfirmed
	case err != nil:
		return errCutOff
	case n == maxHeader:
		return errMore
	}
	// A client that closes the connection after it read everything confirms all bytes with that.
	for {
		n, err := unconfirmed(conn)
		switch {
		case err != nil:
			return errCutOff
		case n <= 1: // the server's own end of the connection counts as a byte
			return nil
		case time.Now().After(end):
			return errUnconfirmed
		}
		time.Sleep(pollTime)
	}
}

package serve

import (
	"io"
	"time"
)

// slowest is how many bytes a second the slowest client takes.
const slowest = 16 << 10

// Paced writes to a client, which has to take what it gets: for each part, of as many bytes as the
// slowest client takes in Patience, it has this time. So a client that stops is found within twice
// that time, however much is left.
type Paced struct {
	To       io.Writer
	Deadline func(time.Time) error // sets the deadline of writes
	Patience time.Duration

	left int // of the part
}

func (p *Paced) Write(b []byte) (n int, err error) {
	for k := 0; len(b) > n && err == nil; n += k {
		if p.left == 0 {
			p.left = max(1, int(p.Patience*slowest/time.Second))
			_ = p.Deadline(time.Now().Add(p.Patience)) // if it cannot be set, the next write fails
		}
		k, err = p.To.Write(b[n:min(len(b), n+p.left)])
		p.left -= k
	}
	return n, err
}

// Share returns how many transfers of a pool's document one address has at a time, if so many
// machines may have it: an eighth, at least four, and never more than half. All machines may be
// behind one NAT; the others wait for their turn.
func Share(limit int) int { return max(1, min(max(4, limit/8), limit/2)) }

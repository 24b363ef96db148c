package announce

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"

	"kiln.dev/kiln/pki/private"
)

// lifetime is how long a machine may use a nonce.
const lifetime = time.Minute

// nonces makes nonces and knows its own again. It keeps nothing of one, so that nobody fills the
// memory by asking. A nonce is the time since the server's start, in nanoseconds, and a MAC of that
// and of the machine with a key that ends with the server. The times of two nonces differ.
type nonces struct {
	Key   private.Secret // exported, so that fmt does not print it
	start time.Time

	mu   sync.Mutex
	last int64
}

func newNonces() *nonces {
	n := &nonces{start: time.Now(), Key: make(private.Secret, private.SecretBytes)}
	_, _ = rand.Read(n.Key) // it never fails
	return n
}

// issue returns a nonce for a machine.
func (n *nonces) issue(m *Machine, now time.Time) string {
	n.mu.Lock()
	n.last = max(n.last+1, int64(now.Sub(n.start)))
	order := n.last
	n.mu.Unlock()
	return hex.EncodeToString(n.text(m, order))
}

func (n *nonces) text(m *Machine, order int64) []byte {
	text := binary.BigEndian.AppendUint64(nil, uint64(order))
	h := hmac.New(sha256.New, n.Key)
	_, _ = h.Write(text)
	if m.Pool {
		_, _ = h.Write([]byte("pools/"))
	}
	_, _ = h.Write([]byte(m.Name))
	return append(text, h.Sum(nil)[:16]...)
}

// check returns the order of a nonce among all: a later one has a greater order. It fails with a
// Refusal if n did not make the nonce for this machine, or did so too long ago.
func (n *nonces) check(m *Machine, nonce string, now time.Time) (order int64, err error) {
	text, err := hex.DecodeString(nonce)
	if err != nil || len(text) < 8 {
		return 0, refuse("it has no nonce")
	}
	order = int64(binary.BigEndian.Uint64(text))
	switch {
	case !hmac.Equal(text, n.text(m, order)):
		return 0, refuse("its nonce is not this server's: the server began after it was given")
	case now.Sub(n.start)-time.Duration(order) > lifetime:
		return 0, refuse("its nonce is too old")
	}
	return order, nil
}

package pki

import (
	"time"

	"kiln.dev/kiln/pki/root"
)

// Authority is the certificate of a CA. The bundle holds the key.
type Authority = root.Authority

// damaged is what to do about a value of a stored bundle that nobody can correct by hand.
const damaged = "restore the bundle from a copy"

// stamp returns a time as a bundle has it.
func stamp(t time.Time) string { return t.Format(time.RFC3339) }

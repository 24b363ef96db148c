// This file bounds how often something happens.

package announce

import "time"

// Pace bounds the number of events that happen in a row.
type Pace struct {
	used  int // events that count against the bound
	since time.Time
}

// Take reports whether one more event may happen: up to burst of them in a row, and after these one
// more each time that the duration every has passed.
func (p *Pace) Take(burst int, every time.Duration) bool {
	now := time.Now()
	if back := int(now.Sub(p.since) / every); back > 0 {
		p.used, p.since = max(0, p.used-back), now
	}
	if p.used >= burst {
		return false
	}
	p.used++
	return true
}

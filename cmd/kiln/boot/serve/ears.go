package serve

import (
	"net/netip"
	"sync"

	"kiln.dev/kiln/cmd/kiln/boot/announce"
)

// How many announcements are read at the same time, and how many bytes they have: of all clients,
// and of those at one address. A client may take ten seconds for a few bytes, and one address must
// not keep the others out. Many machines may share one behind a NAT: 64 of them have 8 KiB each,
// which is more than a first boot has to say.
var (
	hearing     = load{512, 4 << 20}
	hearingPeer = load{64, 512 << 10}
)

// load is a number of announcements and of their bytes.
type load struct{ announcements, bytes int }

// fits reports whether an announcement of some bytes may be added.
func (l load) fits(bytes int, most load) bool {
	return l.announcements < most.announcements && l.bytes+bytes <= most.bytes
}

func (l *load) add(announcements, bytes int) {
	l.announcements += announcements
	l.bytes += bytes
}

// Ears counts the announcements that are being read.
type Ears struct {
	mu  sync.Mutex
	all load
	of  map[netip.Addr]load
}

// Take reports whether one more may be read that comes from an address, and has this length or, if
// that is negative, an unknown one. Then leave has to follow.
func (e *Ears) Take(from netip.Addr, length int64) (leave func(), ok bool) {
	from = Network(from)
	bytes := announce.MaxSent
	if 0 <= length && length < announce.MaxSent {
		bytes = int(length)
	}
	if !e.change(from, 1, bytes) {
		return nil, false
	}
	return func() { e.change(from, -1, -bytes) }, true
}

// change adds an announcement if it fits, or takes one away.
func (e *Ears) change(from netip.Addr, announcements, bytes int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	own := e.of[from]
	if announcements > 0 && !(e.all.fits(bytes, hearing) && own.fits(bytes, hearingPeer)) {
		return false
	}
	if e.of == nil {
		e.of = map[netip.Addr]load{}
	}
	e.all.add(announcements, bytes)
	own.add(announcements, bytes)
	e.of[from] = own
	if own.announcements == 0 {
		delete(e.of, from)
	}
	return true
}

// Network returns what counts as one address: of IPv6 the 64 bits that a client does not choose.
func Network(a netip.Addr) netip.Addr {
	if p, err := a.Prefix(64); err == nil && a.Is6() {
		return p.Addr()
	}
	return a
}

package lock

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"kiln.dev/kiln/render/facts/target"
)

// guard opens connections for addresses that files name, such as those of a lock. Somebody else may
// have written the file, to learn what servers say that only this computer reaches: its own, those
// of its link, and those that give the secrets of a machine in a cloud. What the user names, on the
// command line or as a proxy, is reached wherever it is. Private networks are not refused: mirrors
// and registries lie there.
type guard struct {
	dialer  net.Dialer
	proxies func(*http.Request) (*url.URL, error) // of the environment

	mu    sync.Mutex
	named map[string]bool // HOST:PORT
}

// newGuard returns a guard for a command line with these URLs.
func newGuard(urls []string) *guard {
	g := &guard{
		dialer:  net.Dialer{Timeout: 10 * time.Second},
		proxies: http.ProxyFromEnvironment, named: map[string]bool{},
	}
	for _, text := range urls {
		if u, err := url.Parse(text); err == nil {
			g.name(u)
		}
	}
	return g
}

// name lets connections to a server pass, wherever it is.
func (g *guard) name(u *url.URL) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.named[server(u)] = true
}

func (g *guard) isNamed(address string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.named[strings.ToLower(address)]
}

// server returns HOST:PORT of a URL.
func server(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	case strings.HasPrefix(u.Scheme, "socks5"):
		port = "1080"
	default:
		port = "80"
	}
	return strings.ToLower(net.JoinHostPort(u.Hostname(), port))
}

// proxy returns the proxy of the environment for a request, nil if there is none. The proxy is
// asked for no address that would be refused here. It resolves names itself.
func (g *guard) proxy(request *http.Request) (*url.URL, error) {
	proxy, err := g.proxies(request)
	if proxy == nil || err != nil {
		return nil, err
	}
	g.name(proxy)
	address, err := netip.ParseAddr(request.URL.Hostname())
	if err == nil && !g.isNamed(server(request.URL)) {
		err = check(address)
	} else {
		err = nil // a name
	}
	return proxy, err
}

// dial opens a connection. A name is looked up first, and each of its addresses is checked.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := g.dialer
	if !g.isNamed(address) {
		dialer.Control = func(_, resolved string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(resolved)
			if err != nil {
				return err
			}
			return check(to.Addr())
		}
	}
	return dialer.DialContext(ctx, network, address)
}

// refusedError comes for an address that only the command line may name.
type refusedError struct{ address netip.Addr }

func (e refusedError) Error() string {
	return fmt.Sprintf("%s is refused: an address of this computer, of its link or of a cloud's "+
		"metadata, which only the command line may name, with --mirror or --registry", e.address)
}

// metadata are addresses at which clouds give the secrets of a machine, and which are not of the
// machine's link. Alibaba's is not in the table: kiln has no such platform.
var metadata = func() []netip.Addr {
	list := []netip.Addr{netip.AddrFrom4([4]byte{100, 100, 100, 200})}
	for i := range target.Platforms {
		list = append(list, target.Platforms[i].Metadata...)
		for _, other := range target.Platforms[i].Internal {
			list = append(list, other.Addr())
		}
	}
	return list
}()

// Prefixes of NAT64, which reaches the IPv4 address in an IPv6 address (RFC 6052, RFC 8215). In the
// second one an operator chooses where that address is.
var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")
)

// behind returns the IPv4 addresses that NAT64 may reach for an address.
func behind(address netip.Addr) (list []netip.Addr) {
	b := address.As16()
	at := [][4]int{{12, 13, 14, 15}}
	switch local := localNAT64.Contains(address); {
	case !local && !nat64.Contains(address):
		return nil
	case local && b[13] == 0 && b[14] == 0 && b[15] == 0: // a prefix of 48, 56 or 64 bits
		at = [][4]int{{6, 7, 9, 10}, {7, 9, 10, 11}, {9, 10, 11, 12}}
	}
	for _, i := range at {
		if b[i[0]] != 0 { // nothing is behind 0.0.0.0/8
			list = append(list, netip.AddrFrom4([4]byte{b[i[0]], b[i[1]], b[i[2]], b[i[3]]}))
		}
	}
	return list
}

// check returns an error for an address that no file may name.
func check(address netip.Addr) error {
	a := address.Unmap().WithZone("")
	for _, other := range behind(a) {
		if check(other) != nil {
			return refusedError{address}
		}
	}
	this := a.Is4() && a.As4()[0] == 0 // 0.0.0.0/8, this network
	if this || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) || a.IsLoopback() ||
		a.IsUnspecified() || a.IsLinkLocalUnicast() || a.IsMulticast() ||
		slices.Contains(metadata, a) {
		return refusedError{address}
	}
	return nil
}

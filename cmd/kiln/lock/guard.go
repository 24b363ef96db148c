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

	"kiln/render/target"
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

// check returns an error for an address that no file may name.
func check(address netip.Addr) error {
	a := address.Unmap().WithZone("")
	this := a.Is4() && a.As4()[0] == 0 // 0.0.0.0/8, this network
	if this || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) || a.IsLoopback() ||
		a.IsUnspecified() || a.IsLinkLocalUnicast() || a.IsMulticast() ||
		slices.Contains(metadata, a) {
		return refusedError{address}
	}
	return nil
}

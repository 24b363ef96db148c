package lock

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/images"
)

// TestRefusedAddresses: a file may name servers of the world and of private networks alone.
func TestRefusedAddresses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, address string
		refused       bool
	}{
		{"the world", "140.82.121.4", false},
		{"the world, IPv6", "2606:4700::1", false},
		{"a mirror in 10/8", "10.0.0.5", false},
		{"a mirror in 172.16/12", "172.16.0.5", false},
		{"a mirror in 192.168/16", "192.168.1.5", false},
		{"a mirror of a provider's network", "100.64.0.5", false},
		{"a mirror with a unique local address", "fd00::5", false},
		{"loopback", "127.0.0.1", true},
		{"another loopback", "127.8.9.10", true},
		{"loopback, IPv6", "::1", true},
		{"loopback in IPv6", "::ffff:127.0.0.1", true},
		{"this network", "0.0.0.0", true},
		{"this network, another", "0.1.2.3", true},
		{"this network, IPv6", "::", true},
		{"metadata", "169.254.169.254", true},
		{"metadata in IPv6", "::ffff:169.254.169.254", true},
		{"metadata behind NAT64", "64:ff9b::169.254.169.254", true},
		{"loopback behind NAT64", "64:ff9b::127.0.0.1", true},
		{"the world behind NAT64", "64:ff9b::140.82.121.4", false},
		{"metadata behind a local NAT64", "64:ff9b:1::169.254.169.254", true},
		{"metadata behind another", "64:ff9b:1:fffe::169.254.169.254", true},
		{"the world behind a local NAT64", "64:ff9b:1:e000::140.82.121.4", false},
		{"metadata behind NAT64 of 48 bits", "64:ff9b:1:a9fe:a9:fe00::", true},
		{"metadata behind NAT64 of 56 bits", "64:ff9b:1:a9:fe:a9fe::", true},
		{"metadata behind NAT64 of 64 bits", "64:ff9b:1:0:a9:fea9:fe00:0", true},
		{"a mirror behind NAT64 of 48 bits", "64:ff9b:1:a00:0:500::", false},
		{"link", "169.254.1.1", true},
		{"link, IPv6", "fe80::1", true},
		{"link with a zone", "fe80::1%eth0", true},
		{"metadata of AWS, IPv6", "fd00:ec2::254", true},
		{"metadata of Google, IPv6", "fd20:ce::254", true},
		{"metadata of Oracle, IPv6", "fd00:c1::a9fe:a9fe", true},
		{"metadata of Azure", "168.63.129.16", true},
		{"metadata of Alibaba", "100.100.100.200", true},
		{"multicast", "224.0.0.1", true},
		{"multicast, IPv6", "ff02::1", true},
		{"broadcast", "255.255.255.255", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			err := check(netip.MustParseAddr(row.address))
			require.Equal(t, row.refused, err != nil, err)
		})
	}
}

// TestGuard: what a lock, an image or a redirection names is not asked for on this computer, by
// whatever name, unless the command line names it. Nothing is asked a second time.
func TestGuard(t *testing.T) {
	t.Parallel()
	asked := 0
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte("a secret"))
	}))
	t.Cleanup(inside.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(inside.URL, "http://"), ":")
	leads := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusFound))
	t.Cleanup(leads.Close)
	for _, row := range []struct {
		name, url string
		named     []string
	}{
		{"an address", inside.URL, nil},
		{"a name of this computer", "http://localhost:" + port, nil},
		{"an address in IPv6", "http://[::ffff:127.0.0.1]:" + port, nil},
		{"this network", "http://0.0.0.0:" + port, nil},
		{"another server is named", inside.URL, []string{leads.URL}},
		{"a server that is named leads there", leads.URL, []string{leads.URL}},
	} {
		c := newClient(row.named)
		c.pause = time.Hour
		_, _, err := c.hash(context.Background(), row.url, noFile)
		require.ErrorAs(t, err, new(refusedError), row.name)
		require.NotContains(t, WithAdvice([]error{err}).Error(), "HTTPS_PROXY", row.name)
	}
	host := strings.TrimPrefix(inside.URL, "http://")
	_, _, err := New(Options{}).Images(context.Background(),
		[]images.Image{image(host+"/a:1", true, "amd64")}, nil)
	require.ErrorContains(t, err, "only the command line may name, with --mirror or --registry")
	require.Zero(t, asked)

	got, _, err := newClient([]string{inside.URL}).hash(context.Background(), inside.URL, noFile)
	require.NoError(t, err)
	require.Equal(t, sum("a secret"), got)
}

// TestGuardBehindProxy: a proxy is reached wherever it is, and asked for no address that a file may
// not name.
func TestGuardBehindProxy(t *testing.T) {
	t.Parallel()
	proxy, err := url.Parse("http://127.0.0.1:3128")
	require.NoError(t, err)
	g := newGuard([]string{"http://169.254.7.7:8080"})
	g.proxies = func(*http.Request) (*url.URL, error) { return proxy, nil }
	for text, refused := range map[string]bool{
		"http://169.254.169.254/latest": true, "http://[fe80::1]/x": true,
		"http://169.254.7.7/x": true, "http://169.254.7.7:8080/x": false,
		"https://example.com/x": false, "http://10.0.0.5/x": false,
	} {
		u, err := url.Parse(text)
		require.NoError(t, err)
		got, err := g.proxy(&http.Request{URL: u})
		require.Equal(t, refused, err != nil, text)
		require.Equal(t, proxy, got)
	}
	require.True(t, g.isNamed("127.0.0.1:3128"))
}

// TestNoHashInClear: what came over http may be the answer of a server that only this computer
// reaches, and its hash confirms a guess.
func TestNoHashInClear(t *testing.T) {
	t.Parallel()
	p, l := serve(t)
	locked, err := l.Make(context.Background(), wanted[:1], nil)
	require.NoError(t, err)
	p.files[kubelet] = "hunter2"
	differences, err := l.Check(context.Background(), wanted[:1], locked)
	require.NoError(t, err)
	require.Len(t, differences, 1)
	require.NotContains(t, differences[0], sum("hunter2")[:8])
	_, err = l.Make(context.Background(), wanted[:1], []target.Artifact{})
	require.Error(t, err)
	require.NotContains(t, err.Error(), sum("hunter2")[:8])
}

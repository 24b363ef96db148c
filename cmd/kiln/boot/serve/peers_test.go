package serve_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/serve"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/test/need"
)

// peers parses networks that are valid.
func peers(t *testing.T, values ...string) serve.Peers {
	t.Helper()
	p, err := serve.ParsePeers(values)
	require.NoError(t, err)
	return p
}

// cluster is a folder of a pool and of a machine. The machine has addresses on loopback, one of
// them on another interface.
func cluster(t *testing.T) string {
	return renderedFolder(t, []render.Entry{
		{
			Node: "cp-1", Document: "cp-1/user-data", Others: []string{"cp-1/network-config"},
			Addresses: []string{"127.0.0.2", "::1"}, InterfaceAddresses: []string{"127.0.0.3"},
		},
		{Node: "small", Pool: true, Document: "pools/small/user-data"},
	}, map[string]string{
		"cp-1/user-data": "a document", "cp-1/network-config": "version: 2\n",
		"boot.ipxe":             "#!ipxe\n",
		"pools/small/user-data": "a pool's", "initrd/cp-1.cpio.gz": initrd("a document"),
	})
}

// only lets in the networks of these values.
func only(t *testing.T, values ...string) func(*serve.Options) {
	return func(o *serve.Options) { o.Peers = peers(t, values...) }
}

// from returns the status and the body of the answer to a client with this address.
func (r *running) from(t *testing.T, address, path string) (int, string) {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
	defer client.CloseIdleConnections()
	answer, err := client.Get(r.url + path)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(body)
}

// TestOwnAddresses: the files of a machine go to the machine's own addresses. To other clients they
// look as if they did not exist.
func TestOwnAddresses(t *testing.T) {
	t.Parallel()
	r := start(t, cluster(t), only(t))
	_, nothing := r.from(t, "127.0.0.9", "/no/such/thing")
	for _, path := range []string{
		"/cp-1/user-data", "/cp-1/network-config", "/initrd/cp-1.cpio.gz", "/pools/small/user-data",
	} {
		for _, address := range []string{"127.0.0.1", "127.0.0.9"} {
			status, body := r.from(t, address, path)
			require.Equal(t, http.StatusNotFound, status, path)
			require.Equal(t, nothing, body, path)
		}
	}
	r.requireLogged(t, map[string]any{
		"path": "/cp-1/user-data", "decision": "refused",
		"reason": "127.0.0.9 is not an address of cp-1 (127.0.0.2, ::1, 127.0.0.3); --from " +
			"cp-1=127.0.0.9 lets it in",
	})
	r.requireLogged(t, map[string]any{
		"path": "/pools/small/user-data", "decision": "refused",
		"reason": "127.0.0.9 is in no network of small; --from small=127.0.0.9 lets it in",
	})
	require.Equal(t, []string{"small"}, r.Unreachable())
	for address, path := range map[string]string{
		"127.0.0.2": "/cp-1/network-config", "127.0.0.3": "/cp-1/network-config",
		"127.0.0.9": "/boot.ipxe",
	} {
		status, _ := r.from(t, address, path)
		require.Equal(t, http.StatusOK, status, path)
	}
	status, body := r.from(t, "127.0.0.3", "/cp-1/user-data")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "a document", body)
}

// TestAnotherMachine: a machine that asks for the document of another one booted with the wrong
// kernel arguments. The alarm does not tell how to give it the keys of the other machine.
func TestAnotherMachine(t *testing.T) {
	t.Parallel()
	r := start(t, renderedFolder(t, []render.Entry{
		{Node: "cp-1", Document: "cp-1/user-data", Addresses: []string{"127.0.0.2"}},
		{Node: "cp-2", Document: "cp-2/user-data", Addresses: []string{"127.0.0.3"}},
		{Node: "small", Pool: true, Document: "pools/small/user-data"},
	}, map[string]string{
		"cp-1/user-data": "one", "cp-2/user-data": "two", "pools/small/user-data": "a pool's",
	}),
		only(t))
	for _, path := range []string{"/cp-2/user-data", "/pools/small/user-data"} {
		status, _ := r.from(t, "127.0.0.2", path)
		require.Equal(t, http.StatusNotFound, status, path)
	}
	require.Equal(t, "cp-2/user-data was asked for, and not given: "+
		"127.0.0.2 is cp-1: look at its kernel arguments\n"+
		"pools/small/user-data was asked for, and not given: "+
		"127.0.0.2 is cp-1: look at its kernel arguments\n",
		r.warnings.String())
}

// TestPeers: networks let clients in, for all machines or for one machine or pool.
func TestPeers(t *testing.T) {
	t.Parallel()
	r := start(t, cluster(t), only(t, "cp-1=127.0.1.0/24", "small=127.0.2.0/24,127.0.3.1"))
	for _, refused := range [][2]string{
		{"127.0.2.1", "/cp-1/user-data"}, {"127.0.1.1", "/pools/small/user-data"},
		{"127.0.3.2", "/pools/small/user-data"}, {"127.0.0.1", "/cp-1/user-data"},
	} {
		status, _ := r.from(t, refused[0], refused[1])
		require.Equal(t, http.StatusNotFound, status, refused)
	}
	require.Empty(t, r.Unreachable())
	for _, given := range [][2]string{
		{"127.0.1.7", "/cp-1/user-data"}, {"127.0.2.8", "/pools/small/user-data"},
		{"127.0.3.1", "/pools/small/user-data"},
	} {
		status, _ := r.from(t, given[0], given[1])
		require.Equal(t, http.StatusOK, status, given)
	}
	for _, all := range []string{"127.0.0.0/8", "any"} {
		r := start(t, cluster(t), only(t, all))
		status, _ := r.from(t, "127.0.0.77", "/cp-1/user-data")
		require.Equal(t, http.StatusOK, status, all)
	}
}

// TestMappedAddress: a server that listens on both families sees IPv4 addresses inside IPv6.
func TestMappedAddress(t *testing.T) {
	t.Parallel()
	need.Right(t, "IPv6")
	l, err := net.Listen("tcp", "[::]:0")
	require.NoError(t, err)
	s, err := serve.New([]string{cluster(t)},
		serve.Options{State: filepath.Join(t.TempDir(), "state"), Window: time.Hour})
	require.NoError(t, err)
	r := &running{Server: s, log: &lines{}}
	require.NoError(t, s.Begin(r.log))
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	go func() { _ = s.Serve(t.Context(), l) }()
	r.url = "http://127.0.0.1:" + port
	status, _ := r.from(t, "127.0.0.9", "/cp-1/network-config")
	require.Equal(t, http.StatusNotFound, status)
	status, _ = r.from(t, "127.0.0.2", "/cp-1/network-config")
	require.Equal(t, http.StatusOK, status)
	r.url = "http://[::1]:" + port
	status, _ = r.from(t, "::1", "/cp-1/network-config")
	require.Equal(t, http.StatusOK, status)
}

// TestParsePeers parses values of --from.
func TestParsePeers(t *testing.T) {
	t.Parallel()
	for want, values := range map[string][]string{
		"":                                  nil,
		"any":                               {"any"},
		"10.0.0.0/24, 10.0.0.7":             {"10.0.0.0/24,10.0.0.7"},
		"10.0.0.7":                          {"::ffff:10.0.0.7"},
		"fd00::/8; cp-1: 10.0.0.7":          {"cp-1=10.0.0.7", "fd00::/8"},
		"small: 10.8.0.0/16, fe80::/10, ::": {"small=10.8.0.0/16", "small=fe80::/10,::"},
		"any IPv6":                          {"::/0"},
		"any IPv4":                          {"0.0.0.0/0"},
		"blue: any IPv6, 10.0.0.7":          {"blue=::/0,10.0.0.7"},
		"blue: any":                         {"blue=any"},
	} {
		require.Equal(t, want, peers(t, values...).String())
	}
	for value, want := range map[string]string{
		"":                   `"" is no network`,
		"boot.example.com":   "write it like 10.0.0.0/24, 10.0.0.7 or any",
		"10.0.0.5/24":        "10.0.0.5/24: is it the network 10.0.0.0/24 or the address 10.0.0.5?",
		"=10.0.0.0/24":       "want the name of a machine or pool before =",
		"cp-1=10.0.0.7,":     `--from cp-1=10.0.0.7,: "" is no network`,
		"fe80::1%eth0":       "is no network",
		"::ffff:10.0.0.0/96": "is no network",
	} {
		_, err := serve.ParsePeers([]string{value})
		require.ErrorContains(t, err, want, value)
	}
	_, err := serve.New([]string{cluster(t)}, serve.Options{
		State: filepath.Join(t.TempDir(), "state"), Peers: peers(t, "cp-9=any"),
	})
	require.ErrorContains(t, err, "cp-9: no machine or pool of prod")
}

// TestAlarms: the terminal shows a request for a document that somebody has, and one from a foreign
// address.
func TestAlarms(t *testing.T) {
	t.Parallel()
	r := start(t, cluster(t), only(t, "cp-1=127.0.0.9"))
	status, _ := r.from(t, "127.0.0.66", "/cp-1/user-data?mac=%1b[2J%0akiln")
	require.Equal(t, http.StatusNotFound, status)
	status, _ = r.from(t, "127.0.0.2", "/cp-1/user-data")
	require.Equal(t, http.StatusOK, status)
	for range 3 {
		status, _ = r.from(t, "127.0.0.9", "/cp-1/user-data")
		require.Equal(t, http.StatusNotFound, status)
	}
	require.Regexp(t, `^cp-1/user-data was asked for, and not given: `+
		`127.0.0.66 is not an address of cp-1 \(.*\); `+
		"--from cp-1=127.0.0.66 lets it in\n"+
		`cp-1/user-data was asked for again by 127.0.0.9, and 127.0.0.2 has had it since 2\S+Z: `+
		`if one of them `+
		"is not the machine, the secrets in it are known\n$", r.warnings.String())
	require.Equal(t, []string{
		"asked for again after it was given: 3",
		"asked for from an address that is not the machine's: 1",
	}, r.Alarms())

	r = start(t, cluster(t), nil)
	for range 2 {
		_, _ = r.from(t, "127.0.0.2", "/cp-1/user-data")
	}
	require.Regexp(t, `^cp-1/user-data was asked for again by 127.0.0.2, `+
		`which has had it since 2\S+Z: the machine forgot it `+
		`\(--again cp-1 gives it once more\), or somebody else took it there`+"\n$",
		r.warnings.String())
}

// TestPoolLimit: a pool's document goes to this number of machines and no more, whatever they call
// themselves. The terminal shows a client that asks as several machines.
func TestPoolLimit(t *testing.T) {
	t.Parallel()
	dir := cluster(t)
	limited := func(o *serve.Options) { o.PoolLimit = 3 }
	r := start(t, dir, limited)
	given := 0
	for i := range 60 {
		status, _ := r.from(t, "127.0.0.2", fmt.Sprintf("/pools/small/user-data?uuid=%d", i))
		if status == http.StatusOK {
			given++
			require.Eventually(t, func() bool { // the log comes after the answer
				return strings.Count(r.log.String(), `"decision":"served"`) == given
			}, 5*time.Second, time.Millisecond)
		}
	}
	require.Equal(t, 3, given)
	r.requireLogged(t, map[string]any{
		"node": "small", "decision": "refused",
		"reason": "3 machines of the pool have it, the limit",
	})
	require.Equal(t, "pools/small/user-data: 127.0.0.2 has it as 2 machines; behind a NAT or a "+
		"proxy that is usual, and otherwise somebody collects it\n"+
		"pools/small/user-data: 3 machines have it, and 127.0.0.2 asks as another one: if the "+
		"pool small has more, say so with --pool-limit; if not, one of them is not of the pool\n",
		r.warnings.String())
	require.Equal(t, []string{
		"asked for by more machines of a pool than --pool-limit: 57",
		"given to one address as several machines of a pool: 2",
	}, r.Alarms())
	require.NoError(t, r.stop())
	info, err := os.Stat(filepath.Join(dir, "served.json"))
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(2000))

	r = start(t, dir, limited)
	status, _ := r.from(t, "127.0.0.3", "/pools/small/user-data")
	require.Equal(t, http.StatusNotFound, status, "the limit holds over restarts")
	require.NoError(t, r.stop())
	r = start(t, dir, func(o *serve.Options) { o.PoolLimit, o.Again = 1, []string{"small"} })
	var group sync.WaitGroup
	var all atomic.Int32
	for i := range 20 {
		group.Go(func() {
			answer, err := http.Get(fmt.Sprintf("%s/pools/small/user-data?uuid=%d", r.url, i))
			if err == nil && answer.StatusCode == http.StatusOK {
				all.Add(1)
			}
			if err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 1, all.Load(), "at the same time too")
}

// TestNoRedirects: the server never redirects, and a TLS server answers nothing in the clear.
func TestNoRedirects(t *testing.T) {
	t.Parallel()
	r := start(t, example(t), nil)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("a redirect")
	}}
	for _, path := range []string{
		"/cp-1", "/cp-1/", "//cp-1/config.ign", "/cp-1//config.ign", "/cp-1/./config.ign",
		"/x/../cp-1/config.ign",
		"//other.example.com/cp-1/config.ign", "/ipxe", "/cp-1/config.ign/",
	} {
		answer, err := client.Get(r.url + path)
		require.NoError(t, err, path)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusNotFound, answer.StatusCode, path)
	}
	b, err := pki.New(pki.Options{
		Name: "prod", Now: time.Now(), Algorithm: private.P256, CALifetime: 24 * time.Hour,
		FormationWindow: time.Hour,
	})
	require.NoError(t, err)
	settings, err := serve.TLS(b, []string{"127.0.0.1"}, time.Now().Add(time.Hour))
	require.NoError(t, err)
	s, err := serve.New([]string{example(t)}, serve.Options{
		State: filepath.Join(t.TempDir(), "state"), Peers: peers(t, "any"), Window: time.Hour,
	})
	require.NoError(t, err)
	require.NoError(t, s.Begin(io.Discard))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = s.Serve(t.Context(), tls.NewListener(l, settings)) }()
	answer, err := client.Get("http://" + l.Addr().String() + "/cp-1/config.ign")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusBadRequest, answer.StatusCode)
	require.Len(t, s.Left(), 4)
}

package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/serve"
	"kiln.dev/kiln/render"
)

// large is more than the buffers between server and client hold.
var large = strings.Repeat("0123456789abcdef", 1<<19)

// pool returns a folder with a pool that has a document.
func pool(t *testing.T, document string) string {
	return renderedFolder(t, []render.Entry{
		{Node: "small", Pool: true, Document: "pools/small/user-data"},
	}, map[string]string{
		"pools/small/user-data": document, "images/flatcar/vmlinuz": "MZ\x00" + large[3:],
	})
}

// TestShare: clients of one address that read nothing hold a share of the transfers of a pool, and
// machines with other addresses get the document. Of a pool with a small limit that is the half.
func TestShare(t *testing.T) {
	t.Parallel()
	for limit, share := range map[int]int{2: 1, 8: 4, 40: 5} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			r := start(t, pool(t, large), func(o *serve.Options) { o.PoolLimit = limit })
			var mu sync.Mutex
			begun := 0
			for i := range limit {
				conn := r.ask(t, "127.0.0.1", fmt.Sprintf("/pools/small/user-data?uuid=%d", i))
				go func() {
					if _, err := io.ReadFull(conn, make([]byte, 12)); err == nil {
						mu.Lock()
						defer mu.Unlock()
						begun++
					}
				}()
			}
			count := func() int {
				mu.Lock()
				defer mu.Unlock()
				return begun
			}
			require.Eventually(t, func() bool { return count() >= share }, 5*time.Second,
				5*time.Millisecond)
			require.Never(t, func() bool { return count() > share }, 300*time.Millisecond,
				10*time.Millisecond)
			status, body := r.from(t, "127.0.0.2", "/pools/small/user-data?uuid=x")
			require.Equal(t, http.StatusOK, status)
			require.Len(t, body, len(large))
		})
	}
}

// TestShareOfNAT: all machines of a pool that are behind one address get their document at their
// first request, if they ask at the same time.
func TestShareOfNAT(t *testing.T) {
	t.Parallel()
	const machines = 100
	r := start(t, pool(t, strings.Repeat("x", 130_000)), func(o *serve.Options) {
		o.PoolLimit = 2 * machines
	})
	got := make(chan string, machines)
	for i := range machines {
		conn := r.ask(t, "127.0.0.1", fmt.Sprintf("/pools/small/user-data?uuid=%d", i))
		go func() {
			text, _ := io.ReadAll(conn)
			_ = conn.Close()
			got <- string(text[:min(len(text), 12)])
		}()
	}
	for range machines {
		require.Equal(t, "HTTP/1.1 200", <-got)
	}
}

// TestWaitingForShare: a client that waits for its share and leaves holds nothing, and one that
// waits gets its document when another transfer of its address ends.
func TestWaitingForShare(t *testing.T) {
	t.Parallel()
	r := start(t, pool(t, large), func(o *serve.Options) { o.PoolLimit = 2 })
	first := r.ask(t, "127.0.0.1", "/pools/small/user-data?uuid=1")
	_, err := io.ReadFull(first, make([]byte, 1000))
	require.NoError(t, err)
	require.NoError(t, r.ask(t, "127.0.0.1", "/pools/small/user-data?uuid=2").Close())
	r.requireLogged(t, map[string]any{
		"decision": "failed", "status": 503.0,
		"reason": "other transfers to its address are under way",
	})
	waiting := r.ask(t, "127.0.0.1", "/pools/small/user-data?uuid=1")
	require.NoError(t, first.Close())
	text, err := io.ReadAll(waiting)
	require.NoError(t, err)
	require.Greater(t, len(text), len(large))
}

// TestPace: a transfer ends if its client does not take its bytes at the least pace, be it a
// document or a file for everybody. A client that takes them has as long as it needs.
func TestPace(t *testing.T) {
	t.Parallel()
	const patience = 300 * time.Millisecond
	r := startChanged(t, pool(t, large), nil, func(s *serve.Server) { s.SetPatience(patience) })
	for _, path := range []string{"/pools/small/user-data", "/images/flatcar/vmlinuz"} {
		for _, row := range []struct {
			name  string
			part  int
			pause time.Duration
			whole bool
		}{
			{"nothing", 0, 20 * time.Second, false},
			{"drops", 256, 50 * time.Millisecond, false},
			{"enough", 1 << 20, 100 * time.Millisecond, true},
		} {
			t.Run(path+" "+row.name, func(t *testing.T) {
				t.Parallel()
				query := ""
				if strings.HasPrefix(path, "/pools/") {
					query = "?uuid=" + row.name
				}
				conn := r.ask(t, "127.0.0.1", path+query)
				start, n := time.Now(), 0
				if row.whole {
					for err := error(nil); err == nil; time.Sleep(row.pause) {
						k := 0
						k, err = io.ReadFull(conn, make([]byte, min(row.part, len(large)-n)))
						if n += k; n >= len(large) {
							break
						}
					}
					require.Equal(t, len(large), n)
					require.Greater(t, time.Since(start), 2*patience)
					return
				}
				if row.part > 0 {
					go func() {
						for err := error(nil); err == nil; time.Sleep(row.pause) {
							_, err = io.ReadFull(conn, make([]byte, row.part))
						}
					}()
				}
				require.Eventually(t, func() bool {
					for line := range strings.Lines(r.log.String()) {
						if strings.Contains(line, conn.LocalAddr().String()) {
							return strings.Contains(line, `"decision":"disclosed"`) ||
								strings.Contains(line, `"decision":"cut off"`)
						}
					}
					return false
				}, 10*time.Second, 10*time.Millisecond, "%s", r.log)
			})
		}
	}
}

package templates_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/templates"
	"kiln.dev/kiln/test/need"
)

// An announcer is a machine that runs /etc/kiln/announce with the real curl, and the server to
// which it announces. Each program that it starts is logged with its arguments and environment.
type announcer struct {
	t      *testing.T
	shell  []string
	dir    string
	key    string
	server *httptest.Server

	mu     sync.Mutex
	nonces int
	got    []string // the statuses that the server took
	sent   int      // requests with a status
	// answer decides about a status; nil takes all. It may change the machine's status.
	answer func(a *announcer, status string) int
	nonce  func(n int) string
}

func newAnnouncer(t *testing.T, shell []string) *announcer {
	t.Helper()
	need.Program(t, "curl")
	a := &announcer{t: t, shell: shell, dir: t.TempDir(), key: randomKey()}
	a.nonce = func(n int) string { return fmt.Sprintf("nonce-%d", n) }
	for _, name := range strings.Fields("cat curl cut env head printf sed sha256sum sleep tr") {
		program := "exec " + need.Basic(t, name) + ` "$@"`
		if name == "sleep" {
			program = fmt.Sprintf(`echo "$1" >>'%s/slept'`, a.dir)
		}
		log := fmt.Sprintf(`{ echo "%s $*"; export -p; } >>'%s/seen'`, name, a.dir)
		write(t, a.dir+"/bin/"+name, "#!/bin/sh\n"+log+"\n"+program+"\n", 0o755)
	}
	a.server = httptest.NewServer(a)
	t.Cleanup(a.server.Close)
	return a
}

func randomKey() string {
	var b strings.Builder
	for range 64 {
		fmt.Fprint(&b, rand.IntN(4))
	}
	return b.String()
}

func (a *announcer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Method == http.MethodGet {
		a.nonces++
		_, _ = io.WriteString(w, a.nonce(a.nonces))
		return
	}
	body, _ := io.ReadAll(r.Body)
	block := []byte(a.key)
	for i := range block {
		block[i] ^= 0x36
	}
	mac, text, _ := strings.Cut(string(body), "  -&")
	h := hmac.New(sha256.New, block)
	h.Write([]byte(text))
	if want := hex.EncodeToString(h.Sum(nil)); mac != want {
		a.t.Errorf("HMAC is %s, want %s of %q", mac, want, text)
	}
	if a.nonces == 0 { // the server began between the two requests
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	nonce := a.nonce(a.nonces)
	status, found := strings.CutSuffix(text, " "+nonce[:min(99, len(nonce))])
	if !found {
		a.t.Errorf("no nonce at the end of %q", text)
	}
	a.sent++
	code := http.StatusNoContent
	if a.answer != nil {
		code = a.answer(a, status)
	}
	if code < 300 {
		a.got = append(a.got, status)
	}
	w.WriteHeader(code)
}

// now makes that the status of the machine.
func (a *announcer) now(status string) {
	write(a.t, a.dir+"/status.json.new", status+"\n", 0o600)
	must(a.t, os.Rename(a.dir+"/status.json.new", a.dir+"/status.json"))
}

// run runs the script until it ends, and returns what it prints.
func (a *announcer) run() string {
	a.t.Helper()
	script := templates.Announce(a.server.URL+"/announce/cp-1", "", a.key)
	write(a.t, a.dir+"/announce", script, 0o600)
	cmd := exec.Command(a.shell[0],
		append(a.shell[1:], a.dir+"/announce", a.dir+"/status.json")...)
	cmd.Env = []string{"PATH=" + a.dir + "/bin"}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	must(a.t, cmd.Start())
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	require.NoError(a.t, cmd.Wait(), out.String())
	seen, err := os.ReadFile(a.dir + "/seen")
	must(a.t, err)
	require.NotContains(a.t, string(seen), a.key,
		"a program got the key as an argument or in its environment")
	return out.String()
}

const doneStatus = `{"phase":"done","step":"done","node":"cp-1"}`

// TestAnnounceProves: the authentication of an announcement is the HMAC of crypto/hmac, whatever
// key and status, and its nonce is the last one that the server gave. The key is no argument of a
// program.
func TestAnnounceProves(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		a := newAnnouncer(t, shell)
		const changes = 60
		var want []string
		next := func() {
			status := doneStatus
			if len(want) < changes {
				status = `{"phase":"` + []string{"running", "waiting", "stopped"}[len(want)%3]
				for range rand.IntN(1 << (len(want) % 13)) {
					status += string(rune(' ' + rand.IntN('~'-' ')))
				}
				status += `"}`
			}
			want = append(want, status)
			a.now(status)
		}
		next()
		a.answer = func(a *announcer, status string) int {
			require.Equal(t, want[len(want)-1], status)
			if status != doneStatus {
				next()
			}
			return http.StatusNoContent
		}
		a.run()
		require.Len(t, a.got, changes+1)
	})
}

// TestAnnounceGoesOn: what the server did not take is sent again, after pauses that grow to a
// minute, and a newer status in its place. What it took is not sent again. The script ends when the
// server took that the machine is done.
func TestAnnounceGoesOn(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		a := newAnnouncer(t, shell)
		a.now(`{"phase":"running","step":"done"}`)
		a.answer = func(a *announcer, status string) int {
			switch {
			case a.sent <= 70:
				return []int{404, 503, 400, 413, 401}[a.sent%5]
			case a.sent == 71:
				a.now(`{"phase":"stopped","step":"files"}`)
			case a.sent == 72:
				return 503
			case a.sent == 73:
				// As systemctl restart kiln after a person mended the machine.
				a.now(doneStatus)
			}
			return http.StatusNoContent
		}
		out := a.run()
		want := []string{
			`{"phase":"running","step":"done"}`, `{"phase":"stopped","step":"files"}`, doneStatus,
		}
		require.Equal(t, strings.Join(want, "\n"), strings.Join(a.got, "\n"))
		var pauses []string
		for i := range 70 {
			pauses = append(pauses, "1", fmt.Sprint(min(i+1, 60)))
		}
		pauses = append(pauses, "1", "1", "1", "1", "1")
		slept, err := os.ReadFile(a.dir + "/slept")
		must(t, err)
		got := strings.Fields(string(slept))
		require.Equal(t, strings.Join(pauses, " "), strings.Join(got, " "))
		require.Contains(t, out, "404")
	})
}

// TestAnnounceWithoutServer: the script waits for the first status, and for a server that is not
// there yet.
func TestAnnounceWithoutServer(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		a := newAnnouncer(t, shell)
		address := a.server.Listener.Addr().String()
		a.server.Close()
		url := "http://" + address
		write(t, a.dir+"/bin/sleep", "#!/bin/sh\nexec "+need.Basic(t, "sleep")+" 0.01\n", 0o755)
		time.AfterFunc(300*time.Millisecond, func() { a.now(doneStatus) })
		time.AfterFunc(time.Second, func() {
			a.server = httptest.NewUnstartedServer(a)
			var err error
			if a.server.Listener, err = net.Listen("tcp", address); err != nil {
				t.Error(err)
				a.now(doneStatus)
				return
			}
			a.server.Start()
		})
		a.server.URL = url
		a.run()
		a.server.Close()
		require.Equal(t, doneStatus, strings.Join(a.got, ""))
	})
}

// TestAnnounceHostileServer: whoever answers in place of the server cannot make the machine keep
// much, or send a file.
func TestAnnounceHostileServer(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		a := newAnnouncer(t, shell)
		endless := strings.Repeat("x", 10<<20)
		a.nonce = func(n int) string { return []string{"@/etc/passwd", endless}[n%2] }
		a.now(`{"phase":"running"}`)
		a.answer = func(a *announcer, _ string) int {
			if a.sent == 1 {
				a.now(doneStatus)
			}
			return http.StatusNoContent
		}
		require.LessOrEqual(t, len(a.run()), 1000)
	})
}

// TestBootAnnounces: the hook starts the script before its first step, so that also a machine whose
// files are damaged announces that, and whatever comes of it the hook goes on. A machine that
// announces nothing starts nothing.
func TestBootAnnounces(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.document()
		m.wantDone()
		require.Empty(t, m.read(m.world+"/announcing"))

		const want = "--quiet --collect --unit kiln-announce sh %[1]s/etc/kiln/announce " +
			"%[1]s/var/lib/kiln/status.json\n"
		for _, fails := range []bool{false, true} {
			m = newMachine(t, shell, "worker")
			m.hold(templates.IfAnnounces)
			m.at("/etc/kiln/announce", "exit 1")
			m.document()
			if fails {
				m.know("no-announce", "")
			}
			require.NotContains(t, m.wantDone(), "already")
			require.Equal(t, fmt.Sprintf(want, m.root), m.read(m.world+"/announcing"))
		}

		m = newMachine(t, shell, "worker")
		m.hold(templates.IfAnnounces)
		m.at("/etc/kiln/announce", "exit 1")
		m.document()
		m.at("/etc/kiln/steps", "damaged")
		m.wantFaults("FAULT file-damaged /etc/kiln/steps: not what was rendered; " +
			"write the document to this machine again")
		require.Equal(t, fmt.Sprintf(want, m.root), m.read(m.world+"/announcing"))
	})
}

// TestAnnounceKey: the key that a server reads from a script is that of HMAC; a reviewer sees its
// mark in its place.
func TestAnnounceKey(t *testing.T) {
	t.Parallel()
	digits := randomKey()
	for _, ca := range []string{"", "/etc/kiln/announce.crt"} {
		script := templates.Announce("https://[fd00::5]:8443/a/announce/cp-1", ca, digits)
		key := templates.AnnounceKey([]byte(script))
		for i := range key {
			key[i] ^= 0x36
		}
		require.Equal(t, digits, string(key))
		shown := strings.Join(templates.AnnounceShown(script, "announce/cp-1 g1"), "\n") + "\n"
		require.Equal(t, strings.Replace(script, digits, "<announce/cp-1 g1>", 1), shown)
	}
	for _, other := range []string{"", "exit 1\n", "api=x i=" + digits[1:] + "\n"} {
		require.Nil(t, templates.AnnounceKey([]byte(other)), other)
	}
}

package registry

import (
	"errors"
	"flag"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

var gib = flag.Float64("gib", 0.1, "gibibytes that the archive of TestLarge has")

const (
	kills = 10
	mebi  = 128 // of memory that kiln may need, for an archive of any size
	layer = 10  // layers of an image
)

// TestLarge: kiln is killed ten times while an archive comes from a registry, each time in the
// middle of a blob. The next run fetches that blob again and no other, and the archive is the same
// in the end. To make it, to push it and to serve it needs little memory.
func TestLarge(t *testing.T) {
	s := newSite(t, layer, 1000)
	size := int(*gib * (1 << 30) / float64(len(s.layout.images)*layer))
	s = newSite(t, layer, size)
	s.frugal("archive", "cluster.yaml", "--from", "layout", "--out", "archive")
	if err := os.RemoveAll(s.layout.dir); err != nil {
		t.Fatal(err)
	}
	host := s.registry("first", true)
	s.frugal("archive", "cluster.yaml", "--out", "archive", "--push", host+"/k8s")

	p := s.newProxy(host)
	words := append([]string{"archive", "cluster.yaml", "--out", "back"},
		s.mirrors(p.host+"/v2/k8s")...)
	for n := range kills {
		cmd := s.command("kiln", words...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p.kill(cmd.Process, (n+1)*len(s.layout.images)*layer/(kills+1))
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("run %d was not killed: %v", n, err)
		}
	}
	s.frugal(words...)
	if a, b := s.read("archive/SHA256SUMS"), s.read("back/SHA256SUMS"); a != b {
		t.Errorf("another archive comes back:\n%s\n%s", a, b)
	}
	again := 0
	for _, n := range p.fetched {
		again += n - 1
	}
	if len(p.fetched) < len(s.layout.images)*layer || again > kills {
		t.Errorf("%d blobs were fetched, and %d times one again, want %d at most",
			len(p.fetched), again, kills)
	}

	address, server := s.serve("back")
	var all sync.WaitGroup
	for _, image := range s.layout.images {
		all.Go(func() {
			for _, blob := range image.blobs {
				pull(t, "http://"+address+"/v2/"+image.repository()+"/blobs/"+blob)
			}
		})
	}
	all.Wait()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(server.Process.Pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, most, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(most)[0])
	if err != nil {
		t.Fatal(err)
	}
	s.atMost(kib, "serve")
	if *gib >= 1 {
		s.frugal("archive", "cluster.yaml", "--out", "back", "--push", s.registry("second", true))
	}
}

// frugal runs kiln, and requires that it needs little memory.
func (s *site) frugal(words ...string) {
	s.t.Helper()
	cmd := s.command("kiln", words...)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("kiln %s: %s\n%s", words, err, out)
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	s.atMost(int(usage.Maxrss), words[0])
}

// atMost notes how much memory kiln needed, and requires that it was little.
func (s *site) atMost(kib int, what string) {
	s.t.Helper()
	s.t.Logf("%s: %d MiB", what, kib>>10)
	if kib>>10 > mebi {
		s.t.Errorf("%s: kiln needed %d MiB of memory, want %d at most", what, kib>>10, mebi)
	}
}

// pull reads what a server has, and forgets it.
func pull(t *testing.T, url string) {
	answer, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return
	}
	_, err = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%s: %s %v", url, answer.Status, err)
	}
}

// proxy stands before a registry. It counts how often each blob is fetched, and kills kiln in the
// middle of one.
type proxy struct {
	sync.Mutex
	host    string
	fetched map[string]int
	victim  *os.Process // nil if nothing is to be killed
	after   int         // so many blobs
}

func (s *site) newProxy(host string) *proxy {
	p := &proxy{fetched: map[string]int{}}
	relay := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: host})
	relay.ModifyResponse = p.answer
	relay.ErrorLog = log.New(io.Discard, "", 0) // of blobs that are cut off
	server := httptest.NewServer(relay)
	s.t.Cleanup(server.Close)
	p.host = strings.TrimPrefix(server.URL, "http://")
	s.logIn(p.host)
	return p
}

// kill lets the proxy kill a process in the middle of the blob that follows so many.
func (p *proxy) kill(victim *os.Process, after int) {
	p.Lock()
	defer p.Unlock()
	p.victim, p.after = victim, after
}

func (p *proxy) answer(r *http.Response) error {
	_, blob, ok := strings.Cut(r.Request.URL.Path, "/blobs/")
	if !ok || r.Request.Method != http.MethodGet || r.StatusCode != http.StatusOK {
		return nil
	}
	p.Lock()
	defer p.Unlock()
	p.fetched[blob]++
	if p.victim != nil && len(p.fetched) > p.after {
		half := io.LimitReader(r.Body, r.ContentLength/2)
		r.Body = &cutOff{half, r.Body, p.victim}
		p.victim = nil
	}
	return nil
}

// cutOff is a body that kills a process where it ends.
type cutOff struct {
	io.Reader
	io.Closer
	victim *os.Process
}

func (c *cutOff) Read(into []byte) (n int, err error) {
	n, err = c.Reader.Read(into)
	if err == io.EOF {
		err = errors.Join(io.ErrUnexpectedEOF, c.victim.Kill())
	}
	return n, err
}

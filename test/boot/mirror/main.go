// Command mirror hands out the files of a folder, as a mirror of released programs does, and can be
// as bad as one. Its folder v2 may have the images of a registry, each file at the path of its URL:
// v2/NAME/manifests/TAG, v2/NAME/manifests/DIGEST and v2/NAME/blobs/DIGEST.
//
//	mirror -listen ADDRESS -dir FOLDER -trouble FILE
//
// The file of troubles is read at every request; without it there is none. It has one line for
// each: KIND PATTERN [NUMBER]. A request whose path has PATTERN in it meets the trouble:
//
//	missing PATTERN        404
//	sick PATTERN SECONDS   503, until SECONDS after the first request
//	cut PATTERN COUNT      half of what is left, then the connection breaks; COUNT times for
//	                       each client
//	slow PATTERN BYTES     BYTES a second
//	changed PATTERN        the first byte is another one
//
// It prints a line when a request begins: seconds since the start, address of the client, path,
// range, and the kind of trouble that the request meets, if it meets one.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to listen at")
	dir := flag.String("dir", ".", "`folder` with the files")
	troubles := flag.String("trouble", "", "`file` with what goes wrong")
	flag.Parse()
	server := &http.Server{
		Addr: *listen, Handler: newMirror(*dir, *troubles), ReadHeaderTimeout: time.Minute,
	}
	if err := server.ListenAndServe(); err != nil {
		fmt.Fprintln(os.Stderr, "mirror:", err)
		os.Exit(1)
	}
}

// trouble is a line of the file of troubles.
type trouble struct {
	kind, pattern string
	number        int
}

type mirror struct {
	dir, troubles string
	begun         time.Time
	log           io.Writer

	mu    sync.Mutex
	first map[string]time.Time // the first request that met a trouble, by its line
	met   map[string]int       // how many of one client did, by its address and the line
}

func newMirror(dir, troubles string) *mirror {
	return &mirror{
		dir: dir, troubles: troubles, begun: time.Now(), log: os.Stdout,
		first: map[string]time.Time{}, met: map[string]int{},
	}
}

// ServeHTTP answers a request for a file.
func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &counter{ResponseWriter: w}
	t := m.troubleOf(r)
	m.print(r, t)
	if r.URL.Path == "/v2/" { // a registry answers this to anybody
		fmt.Fprintln(out, "{}")
		return
	}
	data, err := os.ReadFile(filepath.Join(m.dir, filepath.Clean("/"+r.URL.Path)))
	if err != nil {
		http.NotFound(out, r)
		return
	}
	switch t.kind {
	case "missing":
		http.NotFound(out, r)
		return
	case "sick":
		http.Error(out, "overloaded", http.StatusServiceUnavailable)
		return
	case "cut":
		out.most = (len(data) - start(r)) / 2
	case "slow":
		out.rate = t.number
	case "changed":
		data = append([]byte{data[0] ^ 1}, data[1:]...)
	}
	if strings.Contains(r.URL.Path, "/manifests/") { // a client of a registry reads nothing else
		out.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
	}
	http.ServeContent(out, r, "", time.Time{}, bytes.NewReader(data))
}

func (m *mirror) print(r *http.Request, t trouble) {
	line := fmt.Sprintf("%.1f %s %s %q %s", time.Since(m.begun).Seconds(), client(r), r.URL.Path,
		r.Header.Get("Range"), t.kind)
	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Fprintln(m.log, strings.TrimRight(line, " "))
}

// client returns the address of who asks, without the port.
func client(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return host
}

// troubleOf returns the trouble that a request meets now; its kind is empty if there is none.
func (m *mirror) troubleOf(r *http.Request) trouble {
	text, err := os.ReadFile(m.troubles)
	if err != nil {
		return trouble{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for line := range strings.Lines(string(text)) {
		words := append(strings.Fields(line), "", "", "")
		t := trouble{kind: words[0], pattern: words[1]}
		t.number, _ = strconv.Atoi(words[2])
		if t.kind == "" || !strings.Contains(r.URL.Path, t.pattern) {
			continue
		}
		if _, ok := m.first[line]; !ok {
			m.first[line] = time.Now()
		}
		who := client(r) + " " + line
		m.met[who]++
		over := false
		switch t.kind {
		case "sick":
			over = time.Since(m.first[line]) > time.Duration(t.number)*time.Second
		case "cut":
			over = m.met[who] > t.number
		}
		if !over {
			return t
		}
	}
	return trouble{}
}

// start returns where the range of a request begins.
func start(r *http.Request) (from int) {
	_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
	return from
}

// counter counts what is answered. It breaks the connection after most bytes, and writes rate bytes
// a second.
type counter struct {
	http.ResponseWriter
	bytes, most, rate int
}

func (c *counter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		piece := p
		if c.rate > 0 {
			piece = p[:min(len(p), max(1, c.rate/10))]
			time.Sleep(100 * time.Millisecond)
		}
		if c.most > 0 && c.bytes+len(piece) > c.most {
			piece = piece[:c.most-c.bytes]
		}
		wrote, err := c.ResponseWriter.Write(piece)
		n, c.bytes = n+wrote, c.bytes+wrote
		if err != nil {
			return n, err
		}
		if c.most > 0 && c.bytes >= c.most {
			_ = http.NewResponseController(c.ResponseWriter).Flush()
			panic(http.ErrAbortHandler)
		}
		p = p[len(piece):]
	}
	return n, nil
}

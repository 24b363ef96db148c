package templates_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/need"
)

// mirror is a server with what a machine fetches. It can behave badly.
type mirror struct {
	url   string
	files map[string][]byte // by path

	mu    sync.Mutex
	asked []string // paths, one for each request
	// before answers in the place of the server, if it wants to. It may look at how often the path
	// was asked for, first 1.
	before func(w http.ResponseWriter, r *http.Request, times int) (answered bool)
}

func (s *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.Path)
	times := 0
	for _, path := range s.asked {
		if path == r.URL.Path {
			times++
		}
	}
	s.mu.Unlock()
	if s.before != nil && s.before(w, r, times) {
		return
	}
	data, ok := s.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// program returns a program that says its version.
func program(says string) []byte { return []byte("#!/bin/sh\necho '" + says + "'\n") }

// archive returns a .tar.gz of programs.
func archive(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i < len(files); i += 2 {
		content := program(files[i+1])
		must(t, w.WriteHeader(&tar.Header{
			Name: files[i], Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg,
		}))
		_, err := w.Write(content)
		must(t, err)
	}
	must(t, w.Close())
	must(t, z.Close())
	return b.Bytes()
}

// fetches lets the machine fetch its programs from a mirror.
func (m *aMachine) fetches() *mirror {
	m.t.Helper()
	curl := need.Program(m.t, "curl")
	s := &mirror{files: map[string][]byte{
		"/kubelet": program("Kubernetes v1.36.3"),
		"/containerd.tar.gz": archive(m.t, "bin/containerd", "containerd v2.3.6 0123", "bin/ctr",
			"ctr"),
		"/runc":       program("runc version 1.5.1"),
		"/cni.tgz":    archive(m.t, "./bridge", "CNI bridge plugin v1.9.1", "./loopback", "x"),
		"/crictl.tgz": archive(m.t, "crictl", "crictl version v1.37.0"),
	}}
	server := httptest.NewServer(s)
	m.t.Cleanup(server.Close)
	s.url = server.URL
	// The mirror is asked by the real curl, everything else by the fake one.
	must(m.t, os.Remove(m.bin+"/curl"))
	write(m.t, m.bin+"/curl", fmt.Sprintf("#!/bin/sh\ncase $* in *%s/*) exec %s \"$@\" ;; esac\n"+
		"exec \"${0%%/*}/fakes/curl\" \"$@\"\n", server.URL, curl), 0o755)
	m.data["steps"] = "files machine fetch preflight kubelet node"
	m.kinds = append(m.kinds, "dir 0755 root:root /opt/bin", "dir 0755 root:root /opt/cni/bin")
	m.artifactList(s)
	return s
}

// artifactList writes /etc/kiln/artifacts for what the mirror has now.
func (m *aMachine) artifactList(s *mirror) {
	m.t.Helper()
	var b strings.Builder
	for _, a := range []struct{ path, version, program, folder string }{
		{"/kubelet", "v1.36.3", "/opt/bin/kubelet", "-"},
		{"/containerd.tar.gz", "v2.3.6", "/opt/bin/containerd", "/opt"},
		{"/runc", "v1.5.1", "/opt/bin/runc", "-"},
		{"/cni.tgz", "v1.9.1", "/opt/cni/bin/bridge", "/opt/cni/bin"},
		{"/crictl.tgz", "v1.37.0", "/opt/bin/crictl", "/opt/bin"},
	} {
		sum := sha256.Sum256(s.files[a.path])
		fmt.Fprintln(&b, hex.EncodeToString(sum[:]), a.version, a.program, a.folder, "-",
			s.url+a.path)
	}
	m.at("/etc/kiln/artifacts", b.String())
}

// TestBootFetches: the programs are whole and may be executed, and nothing is fetched twice.
func TestBootFetches(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		s := m.fetches()
		s.before = func(w http.ResponseWriter, r *http.Request, times int) bool {
			return r.URL.Path == "/runc" && times == 1 && cut(w, r, s.files["/runc"])
		}
		m.document()
		m.wantDone()
		for _, path := range []string{
			"/opt/bin/kubelet", "/opt/bin/containerd", "/opt/bin/ctr", "/opt/bin/runc",
			"/opt/cni/bin/bridge", "/opt/cni/bin/loopback", "/opt/bin/crictl",
		} {
			info, err := os.Stat(m.root + path)
			must(t, err)
			require.EqualValues(t, 0o755, info.Mode().Perm(), path)
		}
		require.False(t, m.remains("/opt/bin/.part"), "a part is left")
		require.Equal(t, 6, len(s.asked), s.asked)
		restarted := strings.Count(m.read(m.world+"/systemctl"), "restart containerd.service")
		require.Equal(t, 1, restarted)
		require.Empty(t, m.read(m.root+"/var/lib/kiln/fetched"))
		m.wantDone()
		require.Equal(t, 6, len(s.asked), s.asked)
	})
}

// cut sends the first half of what is left of a file, and closes the connection.
func cut(w http.ResponseWriter, r *http.Request, data []byte) bool {
	from := 0
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
		w.Header().Set("Content-Length", fmt.Sprint(len(data)-from))
		w.WriteHeader(http.StatusPartialContent)
	} else {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	}
	_, _ = w.Write(data[from : from+(len(data)-from+1)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// TestBootFetchGoesOn: what a mirror may do, and the machine is done without a fault, or with one
// until somebody has mended the mirror.
func TestBootFetchGoesOn(t *testing.T) {
	answer := func(path string, most, code int) func(*mirror, *aMachine) {
		return func(s *mirror, _ *aMachine) {
			s.before = func(w http.ResponseWriter, r *http.Request, times int) bool {
				if r.URL.Path != path || times > most {
					return false
				}
				w.WriteHeader(code)
				return true
			}
		}
	}
	// published answers with a code until the machine's world has the file of that name.
	published := func(code int) func(*mirror, *aMachine) {
		return func(s *mirror, m *aMachine) {
			s.before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
				if _, err := os.Stat(m.world + "/published"); err == nil {
					return false
				}
				w.WriteHeader(code)
				return true
			}
		}
	}
	const publish = `: >"$WORLD/published"`
	for i, row := range []struct {
		name  string
		wrong func(s *mirror, m *aMachine)
		fault string // while it waits; none
		mend  string
	}{
		{name: "unavailable for a while", wrong: answer("/kubelet", 20, 503)},
		{name: "too many requests", wrong: answer("/runc", 3, 429)},
		{name: "cut ten times", wrong: func(s *mirror, _ *aMachine) {
			s.files["/kubelet"] = append(program("Kubernetes v1.36.3"),
				bytes.Repeat([]byte("# a long program\n"), 1000)...)
			s.before = func(w http.ResponseWriter, r *http.Request, times int) bool {
				return r.URL.Path == "/kubelet" && times <= 10 && cut(w, r, s.files["/kubelet"])
			}
		}},
		{name: "no ranges", wrong: func(s *mirror, m *aMachine) {
			m.at("/opt/bin/.part", "#!/bin")
			s.before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
				_, _ = w.Write(s.files[r.URL.Path])
				return true
			}
		}},
		{name: "the part of another file", wrong: func(_ *mirror, m *aMachine) {
			m.at("/opt/bin/.part", "something else")
		}},
		{name: "a part that is too long", wrong: func(_ *mirror, m *aMachine) {
			m.at("/opt/bin/.part", strings.Repeat("something else", 1000))
		}},
		{name: "a part that is whole", wrong: func(s *mirror, m *aMachine) {
			m.at("/opt/bin/.part", string(s.files["/kubelet"]))
			s.before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
				if r.URL.Path == "/kubelet" {
					t.Error("it was fetched")
				}
				return false
			}
		}},
		{name: "not found", wrong: published(404), mend: publish,
			fault: "FAULT artifact-unreachable MIRROR/kubelet: curl: (22) The requested URL " +
				"returned error: 404"},
		{name: "forbidden", wrong: published(403), mend: publish,
			fault: "FAULT artifact-unreachable MIRROR/kubelet: curl: (22) The requested URL " +
				"returned error: 403"},
		{name: "never whole, and no ranges", wrong: func(s *mirror, m *aMachine) {
			s.files["/kubelet"] = append(program("Kubernetes v1.36.3"),
				bytes.Repeat([]byte("# a long program\n"), 1000)...)
			s.before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
				_, err := os.Stat(m.world + "/published")
				if r.URL.Path != "/kubelet" || err == nil {
					return false
				}
				r.Header.Del("Range")
				return cut(w, r, s.files["/kubelet"])
			}
		}, mend: publish, fault: "FAULT artifact-unreachable MIRROR/kubelet: curl: ("},
		{name: "unavailable for long", wrong: published(503), mend: publish,
			fault: "FAULT artifact-unreachable MIRROR/kubelet: curl: (22) The requested URL " +
				"returned error: 503"},
		{name: "no room", wrong: func(_ *mirror, m *aMachine) {
			must(m.t, os.MkdirAll(m.root+"/opt/bin", 0o755))
			must(m.t, os.Symlink("/dev/full", m.root+"/opt/bin/.part"))
		}, mend: `rm "$KILN_ROOT"/opt/bin/.part`,
			fault: "FAULT artifact-no-room MIRROR/kubelet: curl: (23) "},
		{name: "a folder that cannot be written", wrong: func(_ *mirror, m *aMachine) {
			must(m.t, os.MkdirAll(m.root+"/opt/bin/.part/x", 0o755))
		}, mend: `rm -r "$KILN_ROOT"/opt/bin/.part`,
			fault: "FAULT artifact-no-room MIRROR/kubelet: "},
	} {
		t.Run(row.name, func(t *testing.T) {
			underOneShell(t, i, func(t *testing.T, shell []string) {
				m := newMachine(t, shell, "worker")
				s := m.fetches()
				row.wrong(s, m)
				m.artifactList(s)
				m.document()
				if row.fault == "" {
					m.wantDone()
					return
				}
				m.wantOverdue(strings.ReplaceAll(row.fault, "MIRROR", s.url))
				m.know("meanwhile", row.mend+"\n")
				m.wantMended()
			})
		})
	}
}

// TestBootFetchStops: what no waiting mends. The faulty program is not used.
func TestBootFetchStops(t *testing.T) {
	for i, row := range []struct {
		name  string
		path  string
		data  []byte
		fault string
	}{
		{"another file", "/runc", program("runc version 1.5.1, changed"),
			"FAULT artifact-wrong-digest MIRROR/runc: SHA-256 "},
		{"nothing", "/kubelet", nil,
			"FAULT artifact-wrong-digest MIRROR/kubelet: SHA-256 e3b0c442"},
		{"half a file", "/containerd.tar.gz", []byte{31, 139},
			"FAULT artifact-wrong-digest MIRROR/con"},
	} {
		t.Run(row.name, func(t *testing.T) {
			underOneShell(t, i, func(t *testing.T, shell []string) {
				m := newMachine(t, shell, "worker")
				s := m.fetches()
				s.files[row.path] = row.data
				m.document()
				m.wantFaults(strings.ReplaceAll(row.fault, "MIRROR", s.url))
				require.False(t, m.remains("/var/lib/kiln/fetched"), "it counts as fetched")
			})
		})
	}
	for i, row := range []struct {
		name  string
		path  string
		data  []byte
		fault string
	}{
		{"another version", "/kubelet", program("Kubernetes v1.35.0"),
			"MIRROR/kubelet: /opt/bin/kubelet says 'Kubernetes v1.35.0', expected v1.36.3; "},
		{"a longer version", "/kubelet", program("Kubernetes v1.36.30"),
			"MIRROR/kubelet: /opt/bin/kubelet says 'Kubernetes v1.36.30', expected v1.36.3; "},
		{"no archive", "/containerd.tar.gz", []byte("<html>"),
			"MIRROR/containerd.tar.gz: /opt/bin/containerd: "},
		{"another processor", "/runc", []byte("\x7fELF\x02\x01\x01 of another processor\x00"),
			"MIRROR/runc: /opt/bin/runc says '"},
	} {
		t.Run(row.name, func(t *testing.T) {
			underOneShell(t, i, func(t *testing.T, shell []string) {
				m := newMachine(t, shell, "worker")
				s := m.fetches()
				s.files[row.path] = row.data
				m.artifactList(s)
				m.document()
				m.wantFaults("FAULT artifact-incompatible " +
					strings.ReplaceAll(row.fault, "MIRROR", s.url))
			})
		})
	}
}

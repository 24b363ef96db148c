package cloudinit_test

import (
	"crypto/sha512"
	"encoding/hex"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/cloudinit"
	"kiln.dev/kiln/test/need"
	"kiln.dev/kiln/test/script"
)

// remote returns a machine whose document has only the address of its body.
func remote(whole bool) *node.Node {
	n := &node.Node{
		AuthorizedKeys: []string{"ssh-ed25519 AAAA you@example"},
		Remote: &node.Remote{URL: "https://boot.example.com/cp-1",
			SHA512: strings.Repeat("0", 128), Bytes: 12345,
			CA:    []byte("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"),
			Whole: whole, Named: whole},
	}
	if !whole {
		n.Dirs = []node.Dir{{Path: "/etc/kubernetes", Mode: 0o755, User: "root", Group: "root"}}
		n.Files = []node.File{{Path: "/etc/hostname", Mode: 0o644, User: "root", Group: "root",
			Content: []byte("cp-1\n")}}
		n.Units = []node.Unit{{Name: "kiln.service", Enabled: true, Started: true}}
		n.Name = "cp-1"
	}
	return n
}

// TestFetchDocument: a document with a body unpacks to the same machine, and cloud-init accepts it.
func TestFetchDocument(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		n := remote(whole)
		doc, err := new(cloudinit.Packer).Pack(n, 0, false)
		require.NoError(t, err)
		for _, limit := range []int{0, 1} {
			for _, text := range []bool{false, true} {
				packed, err := new(cloudinit.Packer).Pack(n, limit, text)
				require.NoError(t, err)
				got, err := cloudinit.Unpack(packed)
				require.NoError(t, err)
				assert.Equal(t, n.Delivered(), got)
			}
		}
		golden := map[bool]string{true: "testdata/pointer.yaml",
			false: "testdata/split.yaml"}[whole]
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(doc), golden)
		if need.Has(t, "cloud-init") {
			out, err := exec.Command(need.Program(t, "cloud-init"), "schema", "--config-file",
				golden).CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Regexp(t, `^Valid (cloud-config|schema).*\n$`, string(out))
		}
	}
}

// TestBodyRoundTrip: a body describes the same machine as a whole document.
func TestBodyRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range machines {
		n := *c.n
		n.Login, n.AuthorizedKeys = "", nil // they stay in the document
		body, err := cloudinit.Body(&n)
		require.NoError(t, err, c.name)
		assert.True(t, cloudinit.IsBody(body))
		got, err := cloudinit.UnpackBody(body)
		require.NoError(t, err, c.name)
		require.Equal(t, n.Delivered(), got, c.name)
	}
	for name, content := range contents {
		n := &node.Node{Files: []node.File{{Path: "/a b/it's", Mode: 0o600,
			Content: []byte(content)}, {Path: "/z", Mode: 0o644, Content: []byte("KILN-END\n")}}}
		body, err := cloudinit.Body(n)
		require.NoError(t, err, name)
		got, err := cloudinit.UnpackBody(body)
		require.NoError(t, err, name)
		require.Equal(t, n.Delivered(), got, name)
	}
}

// TestBodyErrors: everything but a whole body of kiln's is refused, and the error has none of its
// contents.
func TestBodyErrors(t *testing.T) {
	t.Parallel()
	whole, err := cloudinit.Body(full())
	require.NoError(t, err)
	for name, doc := range map[string]string{
		"empty":       "",
		"another":     "#!/bin/sh\nreboot\n",
		"cut off":     string(whole[:len(whole)-100]),
		"cut content": strings.ReplaceAll(string(whole), "\nKILN-END\n", "\n"),
		"a command":   strings.Replace(string(whole), "dir 0755 ", "hush-hush ", 1),
		"a mode":      strings.Replace(string(whole), "dir 0755 ", "dir 9999 ", 1),
		"a quote":     strings.Replace(string(whole), "dir 0755 ", "dir '0755 ", 1),
	} {
		_, err := cloudinit.UnpackBody([]byte(doc))
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "hush", name)
		require.NotContains(t, err.Error(), "CERTIFICATE", name)
	}
	_, err = cloudinit.Body(&node.Node{Files: []node.File{{Path: "c"}}})
	require.Error(t, err)
}

// tools are stand-ins for the programs that need root. They record their arguments in the file log.
func tools(t *testing.T, dir string) []string {
	t.Helper()
	bin := filepath.Join(dir, "bin")
	for name, text := range map[string]string{
		"getent": "exit 2", "groupadd": "", "useradd": "", "chown": "", "systemctl": "",
		"restorecon": "",
		"install":    `[ "$1 $2 $4 $6 $8" = "-d -m -o -g --" ] && mkdir -p "$9" && chmod "$3" "$9"`,
	} {
		note := `echo "` + name + ` $*" >>"$DIR/log"` + "\n"
		script.Write(t, filepath.Join(bin, name), "#!/bin/sh\n"+note+text+"\n")
	}
	return []string{"DIR=" + dir, "PATH=" + bin + ":" + os.Getenv("PATH")}
}

// TestBodyRuns runs a body twice in a folder, with every shell that starts the stand-ins, and
// compares what it writes with the machine.
func TestBodyRuns(t *testing.T) {
	t.Parallel()
	n := full()
	for name, content := range contents {
		n.Files = append(n.Files, node.File{Path: "/data/" + name, Mode: 0o640, Group: "etcd",
			Content: []byte(content)})
	}
	n.Sort()
	body, err := cloudinit.Body(n)
	require.NoError(t, err)
	for _, shell := range need.Usable(t) {
		dir := t.TempDir()
		env, root := tools(t, dir), filepath.Join(dir, "root")
		file := filepath.Join(dir, "body")
		require.NoError(t, os.WriteFile(file, body, 0o600))
		for _, part := range []string{"files", "files", "units", "units"} {
			command := append(need.Words(shell), file, part, root)
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Env = env
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s: %s", shell, out)
			require.Empty(t, string(out), shell)
			if part == "files" {
				assert.NoFileExists(t, filepath.Join(root, "etc/localtime"))
			}
		}
		for _, f := range n.Files {
			got, err := os.ReadFile(filepath.Join(root, f.Path))
			if f.Mode == 0 && os.IsPermission(err) {
				continue
			}
			require.NoError(t, err)
			require.Equal(t, string(f.Content), string(got), "%s: %s", shell, f.Path)
			info, err := os.Stat(filepath.Join(root, f.Path))
			require.NoError(t, err)
			require.Equal(t, os.FileMode(f.Mode), info.Mode().Perm(), f.Path)
		}
		info, err := os.Stat(filepath.Join(root, "data"))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o755), info.Mode().Perm(), "as write_files makes it")
		target, err := os.Readlink(filepath.Join(root, "etc/localtime"))
		require.NoError(t, err)
		require.Equal(t, "../usr/share/zoneinfo/UTC", target)
		log, err := os.ReadFile(filepath.Join(dir, "log"))
		require.NoError(t, err)
		for _, line := range []string{
			"groupadd --system --gid 2379 etcd", "useradd --system --uid 2379 --gid etcd " +
				"--no-create-home --home-dir /var/lib/etcd --shell /usr/sbin/nologin etcd",
			"chown root:etcd -- " + root + "/etc/etcd/pki/ca.crt.kiln-new",
			"install -d -m 0750 -o root -g etcd -- " + root + "/etc/etcd/pki",
			"systemctl --no-reload mask -- update-engine.service",
			"systemctl --no-reload enable -- kubelet.service", "systemctl daemon-reload",
			"systemctl --no-block start -- kubelet.service",
			"restorecon " + root + "/etc/etcd/pki/ " + root + "/etc/etcd/pki/ca.crt",
		} {
			require.Contains(t, "\n"+string(log), "\n"+line+"\n", shell)
		}
	}
}

// withLib returns a command that keeps its files in the folder lib.
func withLib(command []string, lib string) []string {
	words := slices.Clone(command)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "/var/lib/kiln", lib)
	}
	return words
}

// TestFetchRuns runs the command that fetches a body against a faulty server. It asks again until
// it has the whole right body, runs that, and never asks again.
func TestFetchRuns(t *testing.T) {
	t.Parallel()
	need.Program(t, "curl")
	dir := t.TempDir()
	body := "#!/bin/sh\necho \"ran $1\" >>" + dir + "/ran\n"
	sum := sha512.Sum512([]byte(body))
	var requests atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			switch requests.Add(1) {
			case 1:
				http.NotFound(w, r)
			case 2: // half of it
				w.Header().Set("Content-Length", strconv.Itoa(len(body)))
				_, _ = io.WriteString(w, body[:len(body)/2])
			case 3: // other bytes of the same size
				_, _ = io.WriteString(w, strings.Replace(body, "ran", "run", 1))
			default:
				_, _ = io.WriteString(w, body)
			}
		}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // one client trusts another CA
	server.StartTLS()
	t.Cleanup(server.Close)
	n := remote(true)
	n.Remote.Bytes = len(body)
	n.Remote.URL, n.Remote.SHA512, n.Remote.CA = server.URL+"/body?{a}[b]",
		hex.EncodeToString(sum[:]), pem.EncodeToMemory(
			&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	fetch := commands(t, n, "bootcmd")[1]
	lib := filepath.Join(dir, "lib")
	run := func(command []string) string {
		words := withLib(command, lib)
		cmd := exec.Command(words[0], words[1:]...)
		// sleep does nothing, so that the test does not wait.
		bin := filepath.Join(dir, "bin")
		script.Write(t, filepath.Join(bin, "sleep"), "#!/bin/sh\necho \"sleep $1\"\n")
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
		cmd.WaitDelay = time.Minute
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	ran := func() string {
		text, err := os.ReadFile(filepath.Join(dir, "ran"))
		require.NoError(t, err)
		return string(text)
	}
	out := run(fetch)
	require.EqualValues(t, 4, requests.Load(), out)
	require.Equal(t, "ran files\n", ran())
	require.Contains(t, out, "kiln: "+n.Remote.URL+" cannot be fetched; again in 1 s\nsleep 1\n")
	require.Contains(t, out, "kiln: "+n.Remote.URL+" cannot be fetched; again in 2 s\nsleep 2\n")
	require.Contains(t, out, "kiln: "+n.Remote.URL+" is not what was rendered; "+
		"again in 4 s\nsleep 4\n")
	info, err := os.Stat(filepath.Join(lib, "body"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	info, err = os.Stat(lib)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	startNow(t, n, dir, lib)
	require.Equal(t, "ran files\nran units\n", ran())
	run(fetch) // the machine was interrupted before it had verified its files, and boots again
	require.Equal(t, "ran files\nran units\nran files\n", ran())
	require.EqualValues(t, 4, requests.Load(), "the body is there")

	require.NoError(t, os.WriteFile(filepath.Join(lib, "body"), []byte("damaged"), 0o600))
	run(fetch)
	require.EqualValues(t, 5, requests.Load(), "a body that is damaged is fetched again")

	require.NoError(t, os.WriteFile(filepath.Join(lib, "state"), nil, 0o600))
	before := ran()
	require.Empty(t, run(fetch))
	startNow(t, n, dir, lib)
	require.Equal(t, before, ran(), "a machine that has verified its files does nothing")
	require.NoFileExists(t, filepath.Join(lib, "body"), "and keeps no copy of its secrets")

	requests.Store(3)
	require.NoError(t, os.Remove(filepath.Join(lib, "state")))
	n.Remote.CA = []byte("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
	cmd := exec.Command("timeout", append([]string{"3"},
		withLib(commands(t, n, "bootcmd")[1], lib)...)...)
	text, err := cmd.CombinedOutput()
	require.Error(t, err, "%s", text)
	require.EqualValues(t, 3, requests.Load(), "nothing is asked of a server that the CA does "+
		"not vouch for")
}

// TestFetchIsBounded: whatever a server sends, the machine keeps no more bytes than its body has,
// and asks no other server.
func TestFetchIsBounded(t *testing.T) {
	t.Parallel()
	need.Program(t, "curl")
	body := "#!/bin/sh\n: " + strings.Repeat("x", 100_000) + "\n"
	sum := sha512.Sum512([]byte(body))
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere.Add(1)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(other.Close)
	for name, answer := range map[string]http.HandlerFunc{
		"chunks without an end": func(w http.ResponseWriter, r *http.Request) {
			for range 1 << 12 { // 256 MiB
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
			t.Error("all of it was taken")
		},
		"a length without measure": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(1<<28))
			for range 1 << 12 {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
			t.Error("all of it was taken")
		},
		"another place": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/body", http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			server := httptest.NewTLSServer(answer)
			t.Cleanup(server.Close)
			n := remote(true)
			n.Remote.URL, n.Remote.SHA512 = server.URL, hex.EncodeToString(sum[:])
			n.Remote.Bytes = len(body)
			n.Remote.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
				Bytes: server.Certificate().Raw})
			words := withLib(commands(t, n, "bootcmd")[1], dir)
			// The first pause ends the command.
			script.Write(t, filepath.Join(dir, "sleep"), "#!/bin/sh\nkill $PPID\n")
			cmd := exec.Command(words[0], words[1:]...)
			cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
			cmd.WaitDelay = time.Minute
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), "kiln: "+server.URL+" ")
			info, err := os.Stat(filepath.Join(dir, "new"))
			require.NoError(t, err)
			require.LessOrEqual(t, info.Size(), int64(len(body)))
			require.NoFileExists(t, filepath.Join(dir, "body"))
			require.Zero(t, elsewhere.Load(), "it was redirected")
		})
	}
}

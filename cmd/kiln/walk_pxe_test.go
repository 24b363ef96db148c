package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	ignition "github.com/coreos/ignition/v2/config/v3_4"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/images"
	"kiln.dev/kiln/test/need"
)

// TestWalkPXE types what the console blocks of docs/walk-pxe.md show, has dnsmasq read the page's
// configuration, serves as the page does, and walks the way of each machine with curl: from DHCP's
// answer to the document on its disk, and to the next boot from the network. A stand-in for
// flatcar-install fetches the image where that would.
func TestWalkPXE(t *testing.T) {
	t.Parallel()
	curl := need.Program(t, "curl")
	page := read(t, "../../docs/walk-pxe.md")
	dir := t.TempDir()
	entries := session(page)
	require.Len(t, entries, 4)
	requireAnswer(t, dir, entries[0])
	file := filepath.Join(dir, "cluster.yaml")
	text := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(page)[1]
	requireEdits(t, read(t, file), text, 7) // five are MACs
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	for _, e := range entries[1:] {
		requireAnswer(t, dir, e)
	}
	nodes := nodesOf(t, dir)
	require.Len(t, nodes, 5)
	for _, port := range openPorts(t, dir, "cp-1") {
		row := "\n| " + strings.ReplaceAll(port, "-", " to ") + " | TCP | "
		require.Equal(t, port != nodePorts, strings.Contains(page, row), port)
	}
	t.Run("dnsmasq", func(t *testing.T) { requireDHCP(t, page, nodes) })
	typeDownloads(t, page, dir)
	program := savePrograms(t, dir)
	s := serveWalk(t, page, dir)
	body := s.fetch(t, s.url+program)
	require.Equal(t, "a kubelet", body)
	for _, n := range nodes {
		s.boot(t, curl, n, read(t, filepath.Join(dir, "nodes", n.Document)))
	}
	require.Empty(t, s.end(t), "the machines that have not come")
}

// nodesOf returns the machines of the folder that a walk rendered.
func nodesOf(t *testing.T, dir string) []render.Entry {
	t.Helper()
	inventory, err := render.ReadInventory(filepath.Join(dir, "nodes"))
	require.NoError(t, err)
	return inventory.Documents
}

// blockWith returns the text block of a page that has this text.
func blockWith(t *testing.T, page, text string) string {
	t.Helper()
	blocks := regexp.MustCompile("(?s)```text\n(.*?)```").FindAllStringSubmatch(page, -1)
	i := slices.IndexFunc(blocks, func(b []string) bool { return strings.Contains(b[1], text) })
	require.GreaterOrEqual(t, i, 0, text)
	return blocks[i][1]
}

// requireDHCP requires that dnsmasq understands the page's configuration, and that this gives each
// machine its address.
func requireDHCP(t *testing.T, page string, nodes []render.Entry) {
	t.Helper()
	dnsmasq := need.Program(t, "dnsmasq")
	text := blockWith(t, page, "dhcp-range=")
	for _, n := range nodes {
		require.Contains(t, text, "\ndhcp-host="+n.MAC+","+n.Addresses[0]+"\n")
	}
	require.Equal(t, len(nodes), strings.Count(text, "\ndhcp-host="))
	for wrong, right := range map[string]bool{"": true, "no-such-setting\n": false} {
		path := filepath.Join(t.TempDir(), "prod.conf")
		require.NoError(t, os.WriteFile(path, []byte(text+wrong), 0o600))
		out, err := exec.Command(dnsmasq, "--test", "--conf-file="+path).CombinedOutput()
		require.Equal(t, right, err == nil, string(out))
	}
}

// typeDownloads types the page's commands for Flatcar's images, with a stand-in for curl.
func typeDownloads(t *testing.T, page, dir string) {
	t.Helper()
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "curl"),
		[]byte("#!/bin/sh\nprintf '\\000 %s' \"$2\" >\"${2##*/}\"\n"), 0o755))
	cmd := exec.Command("sh", "-euc", blockWith(t, page, "netboot/images/flatcar"))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// savePrograms writes a folder as kiln lock --save does, with a stand-in for the kubelet, and
// returns its path below the mirror. It requires that machines fetch all programs from the mirror.
func savePrograms(t *testing.T, dir string) (path string) {
	t.Helper()
	const server = "http://10.0.0.5:8080"
	artifacts := read(t, filepath.Join(dir, "review/shared/all/etc/kiln/artifacts"))
	require.Len(t, strings.Split(strings.TrimSpace(artifacts), "\n"), 5)
	require.Equal(t, 5, strings.Count(artifacts, " "+server+"/"))
	path = regexp.MustCompile(` ` + server + `(/\S+/kubelet)\n`).FindStringSubmatch(artifacts)[1]
	programs := filepath.Join(dir, "programs")
	require.NoError(t, os.MkdirAll(filepath.Dir(programs+path), 0o700))
	require.NoError(t, os.WriteFile(programs+path, []byte("a kubelet"), 0o600))
	sum := sha256.Sum256([]byte("a kubelet"))
	lock := config.Locked{Artifacts: []target.Artifact{{
		Name: "kubelet", Version: "v1.36.3", Arch: "amd64", URL: "https://dl.k8s.io" + path,
		SHA256: hex.EncodeToString(sum[:]),
	}}}
	require.NoError(t, os.WriteFile(filepath.Join(programs, images.LockFile), lock.Encode(), 0o600))
	return path
}

// walkServer is kiln serve as the page starts it.
type walkServer struct {
	url, address string // the address that machines use, and the true one
	log          string
	client       http.Client
	process      *exec.Cmd
}

// serveWalk starts the page's server on loopback, for clients with any address.
func serveWalk(t *testing.T, page, dir string) *walkServer {
	t.Helper()
	words := strings.Fields(blockWith(t, page, "kiln serve "))
	at := slices.Index(words, "--listen") + 1
	s := &walkServer{url: "http://" + words[at], log: filepath.Join(dir, "audit.log")}
	words[at] = "127.0.0.1:0"
	s.process = exec.Command(program(t),
		append(words[1:], "--from", "any", "--log", s.log)...)
	var messages bytes.Buffer
	s.process.Dir, s.process.Stderr = dir, &messages
	require.NoError(t, s.process.Start())
	t.Cleanup(func() { _ = s.process.Process.Kill() })
	for end := time.Now().Add(20 * time.Second); s.address == ""; {
		require.True(t, time.Now().Before(end), "the server has not started: %s", &messages)
		time.Sleep(10 * time.Millisecond)
		s.address = s.event("start").Address
	}
	s.client.Transport = &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			require.Equal(t, s.url, "http://"+address)
			return (&net.Dialer{}).DialContext(ctx, network, s.address)
		},
	}
	return s
}

// event is a line of the log.
type event struct {
	Event, Address string
	Left           []string
}

// event returns the log's line about an event; it is empty if there is none yet.
func (s *walkServer) event(name string) (e event) {
	data, _ := os.ReadFile(s.log)
	for line := range strings.Lines(string(data)) {
		if json.Unmarshal([]byte(line), &e) == nil && e.Event == name {
			return e
		}
	}
	return event{}
}

// end ends the server, and returns the machines that have not come.
func (s *walkServer) end(t *testing.T) []string {
	t.Helper()
	require.NoError(t, s.process.Process.Signal(os.Interrupt))
	require.NoError(t, s.process.Wait())
	stop := s.event("stop")
	require.Equal(t, "stop", stop.Event)
	return stop.Left
}

// fetch returns what is at an address.
func (s *walkServer) fetch(t *testing.T, address string) string {
	t.Helper()
	answer, err := s.client.Get(address)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode, address)
	return string(body)
}

// boot is a machine's way from iPXE to its document on the disk, and its next boot from the
// network, which leads to the disk.
func (s *walkServer) boot(t *testing.T, curl string, n render.Entry, document string) {
	t.Helper()
	chain := regexp.MustCompile(`(?m)^chain --replace (\S+) `)
	own := chain.FindStringSubmatch(s.fetch(t, s.url+"/boot.ipxe"))[1]
	own = strings.Replace(own, "${mac:hexhyp}", strings.ReplaceAll(n.MAC, ":", "-"), 1)
	script := s.fetch(t, own)
	images := regexp.MustCompile(`(?m)^(?:kernel|initrd --name main) (\S+)`).
		FindAllStringSubmatch(script, -1)
	require.Len(t, images, 2)
	for _, m := range images {
		require.True(t, strings.HasPrefix(s.fetch(t, m[1]), "\x00 https://"), m[1])
	}
	installer := regexp.MustCompile(`ignition\.config\.url=(\S+)`).FindStringSubmatch(script)[1]
	root := t.TempDir()
	layLive(t, root, s.fetch(t, installer))
	fakes := map[string]string{
		"curl": `exec ` + curl + ` --connect-to "::` + s.address + `" "$@"`,
		"flatcar-install": `[ "$1 $2 $3 $5 $6 $7 $9" = '-d /dev/sda -i -o  -b -V' ]
for end in '' .sig; do
	curl -q -sSf -o "$KILN_ROOT/image$end" "$8/${10}/flatcar_production_image.bin.bz2$end"
done
cp "$4" "$KILN_ROOT/config.ign"`,
		"lsblk":     "echo disk",
		"systemctl": `echo "$@" >>"$KILN_ROOT/systemctl"`,
		"sleep":     "kill $PPID",
	}
	for name, text := range fakes {
		path := filepath.Join(root, "fakes", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nset -eu\n"+text+"\n"), 0o755))
	}
	cmd := exec.Command("sh", filepath.Join(root, "opt/bin/kiln-install"))
	cmd.Env = []string{"KILN_ROOT=" + root, "PATH=" + root + "/fakes:" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, document, read(t, filepath.Join(root, "config.ign")))
	require.Contains(t, read(t, filepath.Join(root, "image.sig")), "image.bin.bz2.sig")
	require.Equal(t, "reboot\n", read(t, filepath.Join(root, "systemctl")))
	require.Contains(t, s.fetch(t, own), "echo kiln: "+n.Node+" has its document, ")
}

// layLive writes what Ignition writes on a live system.
func layLive(t *testing.T, root, text string) {
	t.Helper()
	parsed, report, err := ignition.Parse([]byte(text))
	require.NoError(t, err)
	require.Empty(t, report.Entries)
	for i := range parsed.Storage.Files {
		f := &parsed.Storage.Files[i]
		_, encoded, _ := strings.Cut(*f.Contents.Source, ";base64,")
		data, err := base64.StdEncoding.DecodeString(encoded)
		require.NoError(t, err)
		path := filepath.Join(root, f.Path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, data, os.FileMode(*f.Mode)))
	}
}

package containerd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	introspection "github.com/containerd/containerd/api/services/introspection/v1"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// inside is set in the process that has mounts of its own.
const inside = "KILN_CONTAINERD_INSIDE"

// program is a containerd.
type program struct {
	minor     string // such as 2.3
	path, ctr string
}

// programs are built from the module files of this folder: one for each minor.
var programs []*program

// where is a folder whose name is short: a socket's path has at most 107 bytes.
var where string

// TestMain runs the tests where they alone see what they mount: when they end, all of it is gone.
func TestMain(m *testing.M) {
	if os.Getenv(inside) == "" {
		if os.Getuid() != 0 {
			fmt.Println("skipped: this needs root, to start containerd in a root of its own")
			return
		}
		cmd := exec.Command(os.Args[0], os.Args[1:]...)
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
		if err := cmd.Run(); cmd.ProcessState == nil {
			fmt.Println("skipped: this needs mount namespaces:", err)
		} else if err != nil {
			os.Exit(max(1, cmd.ProcessState.ExitCode()))
		}
		return
	}
	must(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	var err error
	where, err = os.MkdirTemp("", "cd")
	must(err)
	// Roots in memory: containerd makes overlays on them, and nobody waits for a disk.
	must(unix.Mount("tmpfs", where, "tmpfs", 0, ""))
	must(build())
	code := m.Run()
	_ = unix.Unmount(where, unix.MNT_DETACH)
	_ = os.Remove(where)
	os.Exit(code)
}

// build makes the program of every module file.
func build() error {
	files, err := filepath.Glob("*.mod")
	if err != nil {
		return err
	}
	for _, file := range files {
		p := &program{}
		if p.minor, err = minorOf(file); err != nil {
			return err
		}
		if p.path, err = tool(".", file, "containerd"); err != nil {
			return err
		}
		if p.ctr, err = tool(".", file, "ctr"); err != nil {
			return err
		}
		programs = append(programs, p)
	}
	return nil
}

// tool builds a tool that a module file names, and returns its path. The result is kept in Go's
// cache, unlike that of go build.
func tool(dir, file, name string) (path string, err error) {
	cmd := exec.Command("go", "tool", "-modfile="+file, "-n", name)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", cmd, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// minorOf returns the minor of the containerd that a module file requires.
func minorOf(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "require ")
		for _, module := range []string{"", "/v2"} {
			_, version, ok := strings.Cut(line, "github.com/containerd/containerd"+module+" v")
			if parts := strings.Split(version, "."); ok && len(parts) == 3 {
				return parts[0] + "." + parts[1], nil
			}
		}
	}
	return "", fmt.Errorf("%s requires no containerd", file)
}

// daemon is a containerd that runs on a setup, in a root that has nothing else.
type daemon struct {
	root  string
	log   *buffer
	ended chan struct{}

	conn *grpc.ClientConn
}

// buffer is a buffer that may be read while it is written.
type buffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

func (b *buffer) String() string {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.String()
}

// anyNetwork makes the network ready where the cluster brings its own.
const anyNetwork = `{"cniVersion": "1.0.0", "name": "any", "plugins": [{"type": "loopback"}]}`

// newRoot makes a root with the files of a setup and the program.
func newRoot(t *testing.T, p *program, s *setup) string {
	t.Helper()
	root, err := os.MkdirTemp(where, "")
	check(t, err)
	networks := 0
	for path, text := range s.files {
		if strings.HasPrefix(path, "/etc/cni/net.d/") {
			networks++
		}
		write(t, root+path, text)
	}
	if networks == 0 {
		write(t, root+"/etc/cni/net.d/99-any.conflist", anyNetwork)
	}
	for _, dir := range []string{"/proc", "/sys", "/dev", "/tmp", "/opt/bin"} {
		check(t, os.MkdirAll(root+dir, 0o755))
	}
	for _, dir := range []string{"/proc", "/sys"} {
		check(t, unix.Mount(dir, root+dir, "", unix.MS_BIND|unix.MS_REC, ""))
	}
	for _, path := range []string{p.path, p.ctr} {
		to := root + "/opt/bin/" + filepath.Base(path)
		write(t, to, "")
		check(t, unix.Mount(path, to, "", unix.MS_BIND, ""))
	}
	t.Cleanup(func() {
		for _, dir := range []string{"/proc", "/sys", "/opt/bin/containerd", "/opt/bin/ctr"} {
			_ = unix.Unmount(root+dir, unix.MNT_DETACH)
		}
		_ = os.RemoveAll(root)
	})
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(t, os.WriteFile(path, []byte(text), 0o600))
}

// inRoot is a command in a root, with mounts of its own. containerd gets no word about where its
// configuration is. Namespaces are more of them, such as unix.CLONE_NEWNET: no network.
func inRoot(root string, namespaces uintptr, name string, arguments ...string) *exec.Cmd {
	cmd := exec.Command("/opt/bin/"+name, arguments...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/opt/bin:/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: root, Cloneflags: namespaces | unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL,
	}
	return cmd
}

// start starts containerd and waits until it answers at the kubelet's endpoint. The error says why
// it does not, with the end of its log.
func start(t *testing.T, p *program, s *setup) (*daemon, error) {
	t.Helper()
	d := &daemon{root: newRoot(t, p, s), log: &buffer{}, ended: make(chan struct{})}
	var namespaces uintptr
	if !s.loopback {
		namespaces = unix.CLONE_NEWNET
	}
	cmd := inRoot(d.root, namespaces, "containerd")
	cmd.Stdout, cmd.Stderr = d.log, d.log
	check(t, cmd.Start())
	go func() {
		_ = cmd.Wait()
		close(d.ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-d.ended
	})
	var err error
	d.conn, err = grpc.NewClient("unix:"+d.root+s.endpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(t, err)
	t.Cleanup(func() { _ = d.conn.Close() })
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		select {
		case <-d.ended:
			return nil, fmt.Errorf("containerd has ended: %s", tail(d.log.String()))
		default:
		}
		_, err := cri.NewRuntimeServiceClient(d.conn).Version(soon(t), &cri.VersionRequest{})
		switch {
		case err == nil:
			return d, nil
		case strings.Contains(err.Error(), "unknown service"):
			return nil, fmt.Errorf("containerd runs without its CRI plugin: %s",
				strings.Join(loud(d.log.String()), "\n"))
		case strings.Contains(d.log.String(), "successfully booted") && !exists(d.root+s.endpoint):
			return nil, fmt.Errorf("there is no socket at %s", s.endpoint)
		case time.Now().After(end):
			return nil, fmt.Errorf("no answer at %s: %w", s.endpoint, err)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// patience is how long containerd may take to answer. It takes a second where nothing else runs.
const patience = time.Minute

// tail returns the last lines of a log.
func tail(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "\n")
}

// loud returns the lines of a log that are more than information.
func loud(log string) (lines []string) {
	for line := range strings.Lines(log) {
		if !strings.Contains(line, "level=info") && !strings.Contains(line, "level=debug") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// deprecations are what containerd says will not be read by a later release.
func (d *daemon) deprecations(t *testing.T) (lines []string) {
	t.Helper()
	answer, err := introspection.NewIntrospectionClient(d.conn).Server(soon(t), &emptypb.Empty{})
	check(t, err)
	for _, w := range answer.GetDeprecations() {
		lines = append(lines, w.GetID()+": "+w.GetMessage())
	}
	return lines
}

// dump returns what containerd config dump prints of a setup.
func dump(t *testing.T, p *program, s *setup) (out []byte, err error) {
	t.Helper()
	cmd := inRoot(newRoot(t, p, s), unix.CLONE_NEWNET, "containerd", "config", "dump")
	out, err = cmd.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return nil, fmt.Errorf("containerd config dump: %w: %s", err, tail(string(ended.Stderr)))
	}
	return out, err
}

package network_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"kiln/templates"
	"kiln/test/need"
)

// lab is some machines, each a network namespace, on network segments, each a bridge in a namespace
// of its own.
type lab struct {
	t        *testing.T
	iproute  string // the program ip
	prefix   string // of all names, so that tests do not meet
	api      *api
	ca       authority
	machines map[string]*machine
	links    int
	tools    string // a folder before all others in PATH, of machines that encrypt
}

type machine struct {
	lab       *lab
	name      string
	node      string // its Node's name
	namespace string
	root      string
	pods      []netip.Prefix
	addresses []netip.Addr
	cmd       *exec.Cmd
	log       *safeBuffer
}

// newLab makes a lab whose API server knows these Nodes.
func newLab(t *testing.T, nodes ...string) *lab {
	t.Helper()
	need.Right(t, need.OwnNetwork)
	need.Program(t, "curl")
	name := strings.NewReplacer("Test", "", "/", "-").Replace(t.Name())
	l := &lab{
		t: t, iproute: need.Program(t, "ip"), prefix: fmt.Sprintf("kn%d-%s-", os.Getpid(), name),
		api: newAPI(nodes...), ca: newAuthority(t), machines: map[string]*machine{},
	}
	return l
}

// namespace makes a network namespace.
func (l *lab) namespace(name string) string {
	l.t.Helper()
	full := l.prefix + name
	l.ip("", "netns add "+full)
	l.t.Cleanup(func() { _ = exec.Command(l.iproute, "netns", "del", full).Run() })
	l.ip(full, "link set lo up")
	return full
}

// ip runs a command of ip in a namespace.
func (l *lab) ip(namespace, command string) string {
	l.t.Helper()
	words := strings.Fields(command)
	if namespace != "" {
		words = append([]string{"-n", namespace}, words...)
	}
	out, err := exec.Command(l.iproute, words...).CombinedOutput()
	require.NoError(l.t, err, "%s: %s\n%s", namespace, command, out)
	return string(out)
}

// segment makes a network segment.
func (l *lab) segment(name string) string {
	l.t.Helper()
	full := l.namespace(name)
	l.ip(full, "link add br0 type bridge")
	l.ip(full, "link set br0 up")
	return full
}

// plug connects a namespace to a segment, with these addresses on an interface.
func (l *lab) plug(namespace, nic, segment string, mtu int, addresses ...string) {
	l.t.Helper()
	l.links++
	port := fmt.Sprintf("port%d", l.links)
	l.ip(namespace, fmt.Sprintf("link add %s type veth peer name %s netns %s",
		nic, port, segment))
	l.ip(segment, "link set "+port+" master br0 up mtu "+fmt.Sprint(mtu))
	for _, a := range addresses {
		words := "address add " + a + " dev " + nic
		if strings.Contains(a, ":") {
			words += " nodad"
		}
		l.ip(namespace, words)
	}
	l.ip(namespace, fmt.Sprintf("link set %s up mtu %d", nic, mtu))
}

// serve starts the API server on a segment.
func (l *lab) serve(segment, address string) {
	l.t.Helper()
	namespace := l.prefix + "api"
	if _, err := os.Stat("/run/netns/" + namespace); err != nil {
		l.namespace("api")
		l.plug(namespace, "eth0", segment, 1500, address)
	}
	host, _, _ := strings.Cut(address, "/")
	listener := listen(l.t, namespace, net.JoinHostPort(host, "6443"))
	l.api.serve(listener, l.ca.issue(l.t, "kube-apiserver", host))
	l.t.Cleanup(l.api.stop)
}

// machine makes a machine with its interface on a segment. Each of its addresses has a prefix
// length; pods are its parts of the pod subnets.
func (l *lab) machine(
	name, segment, api, way string, mtu int, addresses, pods []string,
) *machine {
	l.t.Helper()
	m := &machine{
		lab: l, name: name, node: name, namespace: l.namespace(name),
		root: filepath.Join(l.t.TempDir(), name), log: &safeBuffer{},
	}
	l.machines[name] = m
	l.plug(m.namespace, "eth0", segment, mtu, addresses...)
	m.exec("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
	var routes strings.Builder
	for i, text := range pods {
		p := netip.MustParsePrefix(text)
		a := netip.MustParsePrefix(addresses[i]).Addr()
		m.pods, m.addresses = append(m.pods, p), append(m.addresses, a)
		fmt.Fprintf(&routes, "%s %s %s\n", p, a, way)
		// A pod: an address of the machine's part.
		l.ip(m.namespace, fmt.Sprintf("address add %s/%d dev lo", m.pod(i), p.Addr().BitLen()))
	}
	role := "worker"
	if strings.HasPrefix(name, "cp") {
		role = "control-plane"
	}
	certificate := l.ca.issue(l.t, "system:node:"+name)
	for path, content := range map[string]string{
		templates.RoutesPath:                              templates.Routes,
		templates.LearnPath:                               templates.LearnBy(way == encrypted),
		templates.StepsPath:                               templates.Steps([]string{"node"}, nil),
		"/etc/kiln/routes":                                routes.String(),
		"/etc/kiln/machine":                               facts(name, role, api),
		"/etc/kubernetes/pki/ca.crt":                      string(l.ca.pem),
		"/var/lib/kubelet/pki/kubelet-client-current.pem": string(pemOf(certificate)),
		"/sys/class/net/eth0/mtu":                         fmt.Sprintln(mtu),
	} {
		m.write(path, content)
	}
	require.NoError(l.t, os.MkdirAll(m.root+"/var/lib/kiln", 0o700))
	// The kubelet.
	kubelet := listen(l.t, m.namespace, "[::]:10250")
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				_, _ = io.Copy(io.Discard, r.Body)
				return
			}
			w.WriteHeader(http.StatusUnauthorized)
		}),
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12,
		},
		ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { _ = server.ServeTLS(kubelet, "", "") }()
	l.t.Cleanup(func() { _ = server.Close() })
	return m
}

// member makes a machine of a pool, whose parts are in the ranges, each a line of /etc/kiln/parts.
// Its Node is there. It has no pods before it has parts.
func (l *lab) member(name, segment, api string, addresses, ranges []string) *machine {
	l.t.Helper()
	_, way, _ := strings.Cut(ranges[0], " ")
	_, way, _ = strings.Cut(way, " ")
	m := l.machine(name, segment, api, way, 1500, addresses, nil)
	require.NoError(l.t, os.Remove(m.root+"/etc/kiln/routes"))
	m.write(templates.StepsPath, templates.Steps([]string{"name", "node", "parts"}, nil))
	m.write("/etc/kiln/parts", strings.Join(ranges, "\n")+"\n")
	m.write("/etc/kiln/machine", facts("", "worker", api))
	m.write("/var/lib/kiln/name", name+"\n")
	m.moves(addresses...)
	m.write("/var/lib/kiln/parts", "")
	return m
}

// moves tells a machine of a pool the addresses that it has, as the hook does before each start of
// the kubelet.
func (m *machine) moves(addresses ...string) {
	m.lab.t.Helper()
	m.addresses = nil
	var words []string
	for _, text := range addresses {
		a := netip.MustParsePrefix(text).Addr()
		m.addresses, words = append(m.addresses, a), append(words, a.String())
	}
	m.write("/var/lib/kiln/node-ip", "NODE_IP="+strings.Join(words, ",")+"\n")
}

// parted waits until a machine of a pool has its parts, and starts a pod in each of them.
func (m *machine) parted() {
	m.lab.t.Helper()
	var words []string
	took := m.lab.eventually(learned, func() error {
		content, err := os.ReadFile(m.root + "/var/lib/kiln/parts")
		words = strings.Fields(string(content))
		if err == nil && len(words) == 0 {
			return fmt.Errorf("%s has no parts: %s", m.name, m.log)
		}
		return err
	})
	m.lab.t.Log(m.name, "has", words, "after", took)
	for i := 0; i+1 < len(words); i += 2 {
		p := netip.MustParsePrefix(words[i])
		m.pods = append(m.pods, p)
		m.lab.ip(m.namespace,
			fmt.Sprintf("address add %s/%d dev lo", m.pod(i/2), p.Addr().BitLen()))
	}
}

// facts returns the file /etc/kiln/machine of a machine with that Node.
func facts(node, role, api string) string {
	return "node=" + node + "\nrole=" + role + "\napi=" + api + "\n"
}

// pod returns the address of the machine's pod of a family.
func (m *machine) pod(i int) netip.Addr {
	a := m.pods[i].Addr()
	for range 5 {
		a = a.Next()
	}
	return a
}

func (m *machine) write(path, content string) {
	m.lab.t.Helper()
	require.NoError(m.lab.t, os.MkdirAll(filepath.Dir(m.root+path), 0o700))
	require.NoError(m.lab.t, os.WriteFile(m.root+path, []byte(content), 0o600))
}

// exec runs a command in the machine's namespace, and returns what it prints.
func (m *machine) exec(command string) (string, error) {
	words := append([]string{"netns", "exec", m.namespace}, strings.Fields(command)...)
	out, err := exec.Command(m.lab.iproute, words...).CombinedOutput()
	return string(out), err
}

// start starts kiln-routes.service.
func (m *machine) start() {
	m.lab.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	words := []string{"netns", "exec", m.namespace}
	words = append(words,
		m.lab.tunnelled(m, need.Basic(m.lab.t, "sh"), m.root+templates.RoutesPath)...)
	m.cmd = exec.CommandContext(ctx, m.lab.iproute, words...)
	m.cmd.Env = append(os.Environ(), "KILN_ROOT="+m.root)
	if m.lab.tools != "" {
		m.cmd.Env = append(m.cmd.Env, "PATH="+m.lab.tools+":"+os.Getenv("PATH"))
	}
	m.cmd.Stdout, m.cmd.Stderr = m.log, m.log
	m.cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	require.NoError(m.lab.t, m.cmd.Start())
	m.lab.t.Cleanup(cancel)
	m.lab.t.Cleanup(m.stop)
}

// stop kills kiln-routes.service, with all that it has started.
func (m *machine) stop() {
	if m.cmd == nil {
		return
	}
	_ = unix.Kill(-m.cmd.Process.Pid, unix.SIGKILL)
	_ = m.cmd.Wait()
	m.cmd = nil
}

// routes returns the routes that the machine has to the pods of others.
func (m *machine) routes() string {
	return m.lab.ip(m.namespace, "-4 route show proto 107") +
		m.lab.ip(m.namespace, "-6 route show proto 107")
}

// reaches reports whether the machine's pod of a family reaches the pod of another machine, with
// packets of a size that has to be divided.
func (m *machine) reaches(i int, other *machine) error {
	host := other.pod(i).String()
	if other.pod(i).Is6() {
		host = "[" + host + "]"
	}
	data := filepath.Join(m.root, "data")
	if err := os.WriteFile(data, bytes.Repeat([]byte("x"), 1<<20), 0o600); err != nil {
		return err
	}
	out, err := m.exec(fmt.Sprintf("curl -sSgk -m 5 --noproxy * --interface %s -X POST "+
		"--data-binary @%s https://%s:10250/", m.pod(i), data, host))
	if err != nil {
		return fmt.Errorf("%s to %s: %w: %s\n%s", m.name, other.name, err, out, m.routes())
	}
	return nil
}

// eventually waits until check has no error.
func (l *lab) eventually(limit time.Duration, check func() error) time.Duration {
	l.t.Helper()
	begin := time.Now()
	for {
		err := check()
		if err == nil {
			return time.Since(begin)
		}
		if time.Since(begin) > limit {
			for _, m := range l.machines {
				l.t.Logf("%s says:\n%s%s", m.name, m.log, m.routes())
			}
			l.t.Fatalf("not within %s: %v", limit, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// connected waits until all pods reach each other.
func (l *lab) connected(limit time.Duration, machines ...*machine) time.Duration {
	l.t.Helper()
	return l.eventually(limit, func() error {
		for _, from := range machines {
			for _, to := range machines {
				for i := range from.pods {
					if from == to {
						continue
					}
					if err := from.reaches(i, to); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// listen returns a listener in a namespace.
func listen(t *testing.T, namespace, address string) (listener net.Listener) {
	t.Helper()
	inside(t, namespace, func() (err error) {
		listener, err = net.Listen("tcp", address)
		return err
	})
	return listener
}

// inside does something in a namespace, such as to open a socket, which stays there.
func inside(t *testing.T, namespace string, do func() error) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	require.NoError(t, err)
	defer own.Close()
	other, err := os.Open("/run/netns/" + namespace)
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, unix.Setns(int(other.Fd()), unix.CLONE_NEWNET))
	err = do()
	require.NoError(t, unix.Setns(int(own.Fd()), unix.CLONE_NEWNET))
	require.NoError(t, err)
}

// authority is a CA.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return authority{
		certificate, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	}
}

// issue returns a certificate for a client, or for a server at an address.
func (a authority) issue(t *testing.T, name string, addresses ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	for _, text := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(text))
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, a.certificate, key.Public(), a.key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// pemOf returns a certificate and its key.
func pemOf(c tls.Certificate) []byte {
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		panic(err)
	}
	return append(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
}

// safeBuffer is a buffer for several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// clear removes all namespaces of the lab.
func (l *lab) clear() {
	l.t.Helper()
	l.api.stop()
	names, err := filepath.Glob("/run/netns/" + l.prefix + "*")
	require.NoError(l.t, err)
	for _, name := range names {
		l.ip("", "netns del "+filepath.Base(name))
	}
}

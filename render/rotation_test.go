package render_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render"
	finished "kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
)

var (
	sequences = flag.Int("rotations", 3, "walk through this many random rotations")
	firstWalk = flag.Int("rotations-from", 0, "the number of the first of them")
)

// decade is how long new CAs live.
const decade = 87600 * time.Hour

// TestRotations walks random clusters through random rotations of several roots at once. While the
// machines are replaced, some run the stage before and some the stage after, and every machine must
// talk to every other one. What they show and trust is read from their rendered files. A walk
// follows from its number alone.
func TestRotations(t *testing.T) {
	t.Parallel()
	workers := runtime.GOMAXPROCS(0)
	for worker := range min(workers, *sequences) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for i := *firstWalk + worker; i < *firstWalk+*sequences; i += workers {
				rotate(t, i)
			}
		})
	}
}

// rotate walks through the sequence with this number.
func rotate(t *testing.T, number int) {
	t.Helper()
	random := mathrand.New(mathrand.NewPCG(22, uint64(number))) // #nosec G115 -- not negative
	w := newWalk(t, random, number)
	before := w.render(t)
	for range 2 + random.IntN(4) {
		what := w.step(t)
		after := w.render(t)
		pairs := []pair{{before, after}, {after, before}, {after, after}}
		for _, p := range pairs {
			require.NoError(t, w.relations(p), "sequence %d: %s", number, what)
		}
		before = after
	}
}

// TestRotationJumps: machines that are two stages apart do not all talk to each other. So the walk
// above can fail.
func TestRotationJumps(t *testing.T) {
	t.Parallel()
	random := mathrand.New(mathrand.NewPCG(7, 7))
	for _, root := range pki.Roots() {
		for from := range 2 {
			if !root.Staged() {
				continue
			}
			w := newWalk(t, random, 0)
			var states []*staged
			for i := range from + 3 {
				if i > 0 {
					w.turn(t, root)
				}
				states = append(states, w.render(t))
			}
			old, new := states[from], states[from+2]
			err := errors.Join(w.relations(pair{old, new}), w.relations(pair{new, old}))
			require.Error(t, err, "%s from position %d to %d", root, from, from+2)
		}
	}
}

// walk is a cluster whose roots are rotated.
type walk struct {
	random  *mathrand.Rand
	cluster *render.Cluster
	bundle  *pki.Bundle
	now     time.Time
}

func newWalk(t *testing.T, random *mathrand.Rand, i int) *walk {
	t.Helper()
	cps, workers := []int{1, 3}[random.IntN(2)], random.IntN(3)
	etcd := []int{0, 0, 1}[random.IntN(3)]
	var nodes strings.Builder
	for n := range cps {
		fmt.Fprintf(&nodes, "  - {name: cp-%d, role: control-plane, addresses: [10.0.0.%d]}\n",
			n+1, 11+n)
	}
	for n := range 3 * etcd {
		fmt.Fprintf(&nodes, "  - {name: etcd-%d, role: etcd, addresses: [10.0.0.%d]}\n", n+1, 21+n)
	}
	for n := range workers {
		fmt.Fprintf(&nodes, "  - {name: worker-%d, role: worker, addresses: [10.0.0.%d]}\n",
			n+1, 31+n)
	}
	extra := ""
	if random.IntN(3) == 0 {
		extra = "  pools:\n  - {name: blue}\n"
	}
	online := "online"
	if extra == "" && random.IntN(2) == 0 {
		online = "offline"
	}
	algorithm := private.P256
	if random.IntN(20) == 0 {
		algorithm = private.RSA2048
	}
	text := fmt.Sprintf(`apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: walk}
spec:
  kubernetesVersion: v1.3%d.1
  endpoint: api.example.com:6443
  machines:
    os: flatcar
    platform: metal
    sshAuthorizedKeys:
    - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f a@example.com
  certificates: {signing: %s, keyAlgorithm: %s}
  security: {encryption: %s}
  nodes:
%s%s`, 4+random.IntN(4), online, algorithm,
		[]string{"secretbox", "identity"}[min(i, random.IntN(8)/7)], nodes.String(), extra)
	c, err := config.Parse("cluster.yaml", []byte(text), nil)
	require.NoError(t, err, text)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b, err := pki.New(pki.Options{Name: "walk", Now: now, Algorithm: algorithm,
		CALifetime: 87600 * time.Hour, FormationWindow: 168 * time.Hour})
	require.NoError(t, err)
	r, err := render.New(c, b)
	require.NoError(t, err)
	return &walk{random: random, cluster: r, bundle: b, now: now.AddDate(0, 1+i%12, 0)}
}

// step takes some roots one stage on or back, and returns what it did.
func (w *walk) step(t *testing.T) (what string) {
	t.Helper()
	for _, root := range pki.Roots() {
		stage := w.bundle.Rotation(root).Stage
		switch n := w.random.IntN(10); {
		case n < 3:
			continue
		case !root.Staged() && n < 9:
			continue
		case stage != pki.Settled && n == 9:
			require.NoError(t, w.bundle.PreviousStage(root, w.now))
		default:
			w.turn(t, root)
		}
		what += fmt.Sprintf(" %s %q → %q", root, stage, w.bundle.Rotation(root).Stage)
	}
	w.now = w.now.AddDate(0, 0, 30)
	return what
}

// turn takes a root to its next stage.
func (w *walk) turn(t *testing.T, root pki.Root) {
	t.Helper()
	if w.bundle.Rotation(root).Stage == pki.Settled {
		require.NoError(t, w.bundle.Rotate(root, w.now, decade))
		return
	}
	require.NoError(t, w.bundle.NextStage(root, w.now))
}

// staged is a cluster in one stage of each root.
type staged struct {
	hosts []*host
	admin []byte
}

// host is a machine as its files describe it.
type host struct {
	*node.Node
	programs map[string]*finished.Program
	kubelet  *finished.KubeletConfig
}

// render renders and checks every machine in the present stage.
func (w *walk) render(t *testing.T) *staged {
	t.Helper()
	text, err := w.bundle.Marshal()
	require.NoError(t, err)
	b, err := pki.Load(text)
	require.NoError(t, err)
	w.bundle = b
	r, err := render.New(w.cluster.Plan.Config, b)
	require.NoError(t, err)
	s := &staged{}
	s.admin, err = r.Admin()
	require.NoError(t, err)
	for i := range r.Machines() {
		n, err := r.Node(i)
		require.NoError(t, err)
		require.NoError(t, r.Check(&r.Plan.Machines[i], n))
		h := &host{Node: n, programs: map[string]*finished.Program{}}
		for _, f := range n.Files {
			if strings.HasPrefix(f.Path, "/etc/kubernetes/manifests/") {
				programs, err := finished.ReadPod(f.Content)
				require.NoError(t, err)
				for _, p := range programs {
					h.programs[p.Name] = p
				}
			}
		}
		h.kubelet, err = finished.ReadKubeletConfig(n.File("/var/lib/kubelet/config.yaml").Content)
		require.NoError(t, err)
		s.hosts = append(s.hosts, h)
	}
	return s
}

// file returns the content of a file. Links are followed.
func (h *host) file(name string) []byte {
	for _, l := range h.Links {
		if l.Path == name {
			name = path.Join(path.Dir(name), l.Target)
		}
	}
	if f := h.File(name); f != nil {
		return f.Content
	}
	return nil
}

// flag returns the content of the file that a program's flag names.
func (h *host) flag(program, flag string) []byte { return h.file(h.programs[program].Flag(flag)) }

func (h *host) runs(program string) bool { return h.programs[program] != nil }

// pair are two states: one of the machines that speak first, and one of those that answer.
type pair struct{ from, to *staged }

// presented is a certificate with its key.
type presented struct{ cert, key []byte }

// relations returns an error for each relation between a machine of the first state and one of the
// second that does not work.
func (w *walk) relations(p pair) error {
	var errs []error
	fail := func(err error, format string, args ...any) {
		if err != nil {
			errs = append(errs, fmt.Errorf(format+": %w", append(args, err)...))
		}
	}
	for _, a := range p.from.hosts {
		for _, b := range p.to.hosts {
			for _, r := range w.between(a, b) {
				fail(r.err(w), "%s: %s → %s", r.what, a.Name, b.Name)
			}
		}
	}
	for _, b := range p.to.hosts {
		if b.runs("kube-apiserver") {
			r, err := adminRelation(b, p.from.admin)
			fail(err, "admin.conf")
			fail(r.err(w), "admin.conf → %s", b.Name)
		}
	}
	return errors.Join(errs...)
}

// relation is a connection, or something that one machine makes and another one reads.
type relation struct {
	what             string
	client, server   presented
	clientCA, rootCA []byte // by which the server knows the client, and the client the server
	other            func() error
}

// err returns why the relation does not work, or nil. One in some is a whole TLS handshake.
func (r *relation) err(w *walk) error {
	if r.other != nil {
		return r.other()
	}
	if len(r.server.cert) > 0 {
		if err := verifyRotated(r.server.cert, r.rootCA, x509.ExtKeyUsageServerAuth); err != nil {
			return fmt.Errorf("the client refuses the server: %w", err)
		}
	}
	if len(r.client.cert) > 0 {
		if err := verifyRotated(r.client.cert, r.clientCA, x509.ExtKeyUsageClientAuth); err != nil {
			return fmt.Errorf("the server refuses the client: %w", err)
		}
	}
	if len(r.server.cert) == 0 || len(r.client.cert) == 0 || w.random.IntN(40) > 0 {
		return nil
	}
	return r.handshake()
}

// instant is when all certificates of a walk are shown. Every one of them is valid then.
var instant = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)

func verifyRotated(cert, ca []byte, usage x509.ExtKeyUsage) error {
	block, _ := pem.Decode(cert)
	roots := x509.NewCertPool()
	if block == nil || !roots.AppendCertsFromPEM(ca) {
		return errors.New("a certificate is missing")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err
	}
	_, err = leaf.Verify(x509.VerifyOptions{
		Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}, CurrentTime: instant,
	})
	return err
}

// handshake makes a whole TLS connection, in memory.
func (r *relation) handshake() error {
	server, err := tls.X509KeyPair(r.server.cert, r.server.key)
	if err != nil {
		return err
	}
	client, err := tls.X509KeyPair(r.client.cert, r.client.key)
	if err != nil {
		return err
	}
	clients, roots := x509.NewCertPool(), x509.NewCertPool()
	clients.AppendCertsFromPEM(r.clientCA)
	roots.AppendCertsFromPEM(r.rootCA)
	at := func() time.Time { return instant }
	name := ""
	if leaf, err := x509.ParseCertificate(server.Certificate[0]); err != nil {
		return err
	} else if name = leaf.IPAddresses[0].String(); len(leaf.DNSNames) > 0 {
		name = leaf.DNSNames[0]
	}
	a, b := net.Pipe()
	done := make(chan error, 1)
	go func() {
		s := tls.Server(b, &tls.Config{Certificates: []tls.Certificate{server}, Time: at,
			ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert})
		err := s.Handshake()
		if err == nil {
			_, err = s.Write([]byte("x"))
		}
		_ = b.Close()
		done <- err
	}()
	c := tls.Client(a, &tls.Config{Certificates: []tls.Certificate{client}, RootCAs: roots,
		ServerName: name, Time: at})
	if _, err = io.ReadFull(c, make([]byte, 1)); err != nil {
		_ = a.Close()
		return errors.Join(err, <-done)
	}
	_ = a.Close()
	return <-done
}

// apiRelation is that of a client and the API server on b.
func apiRelation(what string, b *host, rootCA []byte, client presented) *relation {
	return &relation{what: what, client: client, rootCA: rootCA,
		server: presented{b.flag("kube-apiserver", "tls-cert-file"),
			b.flag("kube-apiserver", "tls-private-key-file")},
		clientCA: b.flag("kube-apiserver", "client-ca-file")}
}

// adminRelation is that of the operator's kubeconfig and the API server on b.
func adminRelation(b *host, kubeconfig []byte) (*relation, error) {
	var conf struct {
		Clusters []struct {
			Cluster struct {
				CA []byte `json:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct {
				Cert []byte `json:"client-certificate-data"`
				Key  []byte `json:"client-key-data"`
			}
		}
	}
	err := yaml.Unmarshal(kubeconfig, &conf)
	user := conf.Users[0].User
	own := presented{user.Cert, user.Key}
	return apiRelation("admin.conf", b, conf.Clusters[0].Cluster.CA, own), err
}

// between returns all relations in which a speaks first, and b answers.
func (w *walk) between(a, b *host) (all []*relation) {
	const api, manager, etcd = "kube-apiserver", "kube-controller-manager", "etcd"
	add := func(r *relation) { all = append(all, r) }
	if b.runs(api) {
		for _, f := range a.Files {
			if path.Dir(f.Path) != "/etc/kubernetes" || path.Ext(f.Path) != ".conf" {
				continue
			}
			k, err := finished.ReadKubeconfig(f.Content)
			if err != nil {
				continue
			}
			user := k.Users[0].User
			add(apiRelation(f.Path, b, a.file(k.Clusters[0].Cluster.CA),
				presented{a.file(user.Cert), a.file(user.Key)}))
		}
	}
	if b.runs(api) && a.runs(manager) {
		add(apiRelation("a pod, by root-ca-file", b, a.flag(manager, "root-ca-file"), presented{}))
		if signer := a.flag(manager, "cluster-signing-cert-file"); signer != nil {
			add(apiRelation("a kubelet with a certificate of the signer", b,
				a.flag(manager, "root-ca-file"), signed(signer,
					a.flag(manager, "cluster-signing-key-file"))))
		}
	}
	if a.runs(api) && b.kubelet.TLSCertFile != "" {
		r := &relation{what: "API server → kubelet",
			client: presented{a.flag(api, "kubelet-client-certificate"),
				a.flag(api, "kubelet-client-key")},
			clientCA: b.file(b.kubelet.Authentication.X509.ClientCAFile)}
		if r.rootCA = a.flag(api, "kubelet-certificate-authority"); r.rootCA != nil {
			r.server = presented{b.file(b.kubelet.TLSCertFile), b.file(b.kubelet.TLSPrivateKeyFile)}
		}
		add(r)
	}
	if a.runs(api) && b.runs(etcd) {
		add(&relation{what: "API server → etcd",
			client:   presented{a.flag(api, "etcd-certfile"), a.flag(api, "etcd-keyfile")},
			server:   presented{b.flag(etcd, "cert-file"), b.flag(etcd, "key-file")},
			rootCA:   a.flag(api, "etcd-cafile"),
			clientCA: b.flag(etcd, "trusted-ca-file")})
	}
	if a.runs(etcd) && b.runs(etcd) {
		for what, flags := range map[string][3]string{
			"etcd's peers":         {"peer-cert-file", "peer-key-file", "peer-trusted-ca-file"},
			"the hook at a member": {"cert-file", "key-file", "trusted-ca-file"},
		} {
			add(&relation{what: what,
				client: presented{a.flag(etcd, flags[0]), a.flag(etcd, flags[1])},
				server: presented{b.flag(etcd, flags[0]), b.flag(etcd, flags[1])},
				rootCA: a.flag(etcd, flags[2]), clientCA: b.flag(etcd, flags[2])})
		}
	}
	if a.runs(api) && b.runs(api) {
		for _, program := range []string{api, manager} {
			add(&relation{what: "front proxy → aggregated server",
				client: presented{a.flag(api, "proxy-client-cert-file"),
					a.flag(api, "proxy-client-key-file")},
				clientCA: b.flag(program, "requestheader-client-ca-file")})
		}
		for _, key := range [][]byte{
			a.flag(api, "service-account-signing-key-file"),
			a.flag(manager, "service-account-private-key-file"),
		} {
			add(&relation{what: "service account token", other: func() error {
				return tokenAccepted(key, b.flag(api, "service-account-key-file"))
			}})
		}
		add(&relation{what: "Secret in etcd", other: func() error {
			return secretRead(a.flag(api, "encryption-provider-config"),
				b.flag(api, "encryption-provider-config"))
		}})
	}
	return all
}

// signed returns a certificate that the controller-manager would give to a kubelet.
func signed(ca, key []byte) presented {
	pair, err := tls.X509KeyPair(ca, key)
	if err != nil {
		return presented{cert: []byte("the signer's key does not belong to its certificate")}
	}
	issuer, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return presented{cert: []byte(err.Error())}
	}
	own, err := private.NewKey(private.P256)
	if err != nil {
		panic(err)
	}
	block, _ := pem.Decode(own.PublicPEM())
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: instant.Add(-time.Hour),
		NotAfter:    instant.Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, public, pair.PrivateKey)
	if err != nil {
		return presented{cert: []byte(err.Error())}
	}
	return presented{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), own.PEM()}
}

// tokenAccepted signs with a private key, and verifies with a file of public keys.
func tokenAccepted(private, public []byte) error {
	key, err := parsePrivate(private)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte("a token"))
	sig, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		return err
	}
	for block, rest := pem.Decode(public); block != nil; block, rest = pem.Decode(rest) {
		k, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return err
		}
		switch k := k.(type) {
		case *ecdsa.PublicKey:
			if ecdsa.VerifyASN1(k, sum[:], sig) {
				return nil
			}
		case *rsa.PublicKey:
			if rsa.VerifyPKCS1v15(k, crypto.SHA256, sum[:], sig) == nil {
				return nil
			}
		}
	}
	return errors.New("no public key accepts the token")
}

func parsePrivate(data []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(data)
	switch {
	case block == nil:
		return nil, errors.New("no key")
	case block.Type == "RSA PRIVATE KEY":
		return x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	return x509.ParseECPrivateKey(block.Bytes)
}

// secretRead returns an error unless what an API server with one configuration writes can be read
// by one with the other: it finds the key by its name.
func secretRead(writes, reads []byte) error {
	type keys []struct{ Name, Secret string }
	type configuration struct {
		Resources []struct {
			Providers []struct {
				Secretbox *struct{ Keys keys }
				Identity  *struct{}
			}
		}
	}
	var a, b configuration
	if err := errors.Join(yaml.Unmarshal(writes, &a), yaml.Unmarshal(reads, &b)); err != nil {
		return err
	}
	first := a.Resources[0].Providers[0]
	for _, provider := range b.Resources[0].Providers {
		switch {
		case first.Secretbox == nil && provider.Identity != nil:
			return nil
		case first.Secretbox == nil || provider.Secretbox == nil:
			continue
		}
		key := first.Secretbox.Keys[0]
		raw, err := base64.StdEncoding.DecodeString(key.Secret)
		if err != nil || len(raw) != 32 {
			return errors.New("not a key")
		}
		if slices.ContainsFunc(provider.Secretbox.Keys, func(k struct{ Name, Secret string }) bool {
			return k.Name == key.Name && bytes.Equal([]byte(k.Secret), []byte(key.Secret))
		}) {
			return nil
		}
	}
	return errors.New("no key reads it")
}

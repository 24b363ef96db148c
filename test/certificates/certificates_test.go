// Package certificates holds every certificate that kiln makes against judges that know nothing of
// kiln: the lints of zlint for RFC 5280 and its community, and openssl verify -x509_strict. It is a
// module of its own because of its dependencies.
package certificates

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zmap/zcrypto/x509"
	"github.com/zmap/zlint/v3"
	"github.com/zmap/zlint/v3/lint"
)

// ours matches the names of kiln's CAs, also of those that took the place of others.
var ours = regexp.MustCompile(`^(kubernetes|etcd-ca|front-proxy-ca)(-\d+)?$`)

// exceptions lists lints that kiln's certificates do not pass, and why they need not.
var exceptions = map[string]string{
	"n_san_iana_pub_suffix_empty": "names without a dot are names of machines, and of the Service",
}

// machine is a machine as test/trees writes it.
type machine struct {
	Case, Name string
	Files      []struct {
		Path    string
		Content []byte
	}
}

// TestGoldens judges the certificates of every golden cluster. KILN_TREES may be a folder that
// test/trees has written.
func TestGoldens(t *testing.T) {
	dir := os.Getenv("KILN_TREES")
	if dir == "" {
		dir = t.TempDir()
		run(t, "../..", "go", "run", "./test/trees", dir)
	}
	cases, err := filepath.Glob(dir + "/v1.36/*/*.json")
	if err != nil || len(cases) < 40 {
		t.Fatalf("%d documents: %v", len(cases), err)
	}
	total := 0
	for _, name := range cases {
		total += judge(t, filepath.Base(filepath.Dir(name)), read(t, name))
	}
	if total < 1000 {
		t.Errorf("only %d certificates", total)
	}
	t.Logf("%d certificates of %d cases and formats", total, len(cases))
}

// TestRotation judges the certificates of a cluster in each stage of a rotation of all its CAs.
func TestRotation(t *testing.T) {
	dir := t.TempDir()
	kiln := dir + "/kiln"
	run(t, "../..", "go", "build", "-o", kiln, "./cmd/kiln")
	config := run(t, dir, kiln, "init", "--name", "demo", "--address", "10.0.0.11,10.0.0.21")
	if err := os.WriteFile(dir+"/cluster.yaml", config, 0o600); err != nil {
		t.Fatal(err)
	}
	render := []string{"render", "--config", "cluster.yaml", "--out", "nodes"}
	run(t, dir, kiln, render...)
	for _, stage := range []string{"trust", "issue", "drop"} {
		rotate := []string{"secrets", "rotate", "ca", "etcd-ca", "front-proxy-ca"}
		if stage != "trust" {
			rotate = append(rotate, "--next", "--all-replaced")
		}
		run(t, dir, kiln, rotate...)
		run(t, dir, kiln, render...)
		data := run(t, "../..", "go", "run", "./test/trees", "-documents", dir+"/nodes")
		if n := judge(t, stage, data); n < 15 {
			t.Errorf("%s: only %d certificates", stage, n)
		}
	}
}

// TestJudges: the judges find what is wrong with a certificate.
func TestJudges(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key",
		"-out", "ca", "-subj", "/CN=kubernetes", "-addext", "basicConstraints=CA:TRUE",
		"-addext", "subjectKeyIdentifier=none")
	run(t, dir, "openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", "own",
		"-out", "request", "-subj", "/CN=x")
	run(t, dir, "openssl", "x509", "-req", "-in", "request", "-CA", "ca", "-CAkey", "key",
		"-out", "leaf")
	ca, leaf := find(read(t, dir+"/ca"))[0], find(read(t, dir+"/leaf"))[0]
	if len(lints(t, ca)) == 0 {
		t.Error("zlint finds nothing in a CA without key identifier and usage")
	}
	if len(verify(t, [][]byte{ca}, [][]byte{leaf})) == 0 {
		t.Error("openssl finds nothing in what it has signed")
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// judge judges each certificate of kiln's on the machines, and returns how many there are.
func judge(t *testing.T, name string, data []byte) int {
	t.Helper()
	var machines []machine
	if err := json.Unmarshal(data, &machines); err != nil {
		t.Fatal(err)
	}
	places := map[string]string{} // by the certificate
	for _, m := range machines {
		for _, f := range m.Files {
			for _, der := range find(f.Content) {
				places[string(der)] = name + " " + m.Name + " " + f.Path
			}
		}
	}
	var authorities, all [][]byte
	for _, der := range slices.Sorted(maps.Keys(places)) {
		c, err := x509.ParseCertificate([]byte(der))
		if err != nil {
			t.Errorf("%s: %v", places[der], err)
			continue
		}
		if c.IsCA && ours.MatchString(c.Subject.CommonName) {
			authorities = append(authorities, c.Raw)
		}
		if !ours.MatchString(c.Issuer.CommonName) {
			continue // from a file of the user's, or a CA that his own CA has signed
		}
		all = append(all, c.Raw)
		if c.IsCA && name == "imported" {
			continue // kubeadm has made it
		}
		for _, finding := range lints(t, c.Raw) {
			t.Errorf("%s: %s", places[der], finding)
		}
	}
	for _, finding := range verify(t, authorities, all) {
		t.Errorf("%s: %s", name, finding)
	}
	return len(all)
}

// lints returns what zlint finds in a certificate. The rules of browsers' CAs are left out: no CA
// of a cluster follows them.
func lints(t *testing.T, der []byte) (findings []string) {
	t.Helper()
	sources := lint.SourceList{
		lint.RFC3279, lint.RFC5280, lint.RFC5480, lint.RFC5891, lint.RFC6962, lint.RFC8813,
		lint.Community,
	}
	registry, err := lint.GlobalRegistry().Filter(lint.FilterOptions{IncludeSources: sources})
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	results := zlint.LintCertificateEx(c, registry).Results
	for _, name := range slices.Sorted(maps.Keys(results)) {
		r := results[name]
		if r.Status >= lint.Notice && exceptions[name] == "" {
			findings = append(findings, fmt.Sprintf("%s %s: %s %s", r.Status, name, c.Subject,
				r.Details))
		}
	}
	return findings
}

// verify returns what openssl finds in certificates that these CAs have signed.
func verify(t *testing.T, authorities, all [][]byte) (findings []string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, list ...[]byte) string {
		var out []byte
		for _, der := range list {
			block := &pem.Block{Type: "CERTIFICATE", Bytes: der}
			out = append(out, pem.EncodeToMemory(block)...)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, out, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	words := []string{"verify", "-x509_strict", "-no_check_time", "-check_ss_sig", "-CAfile",
		write("authorities", authorities...)}
	if slices.ContainsFunc(authorities, signedByAnother) {
		words = append(words, "-partial_chain") // as machines verify, which trust that CA alone
	}
	for i, der := range all {
		words = append(words, write(fmt.Sprint(i), der))
	}
	out, err := exec.Command("openssl", words...).CombinedOutput()
	good := strings.Count(string(out), ": OK\n")
	if err != nil || good != len(all) {
		findings = append(findings, fmt.Sprintf("%d of %d: %v\n%s", good, len(all), err,
			strings.ReplaceAll(string(out), ": OK\n", "")))
	}
	return findings
}

// signedByAnother reports whether a CA is one under another CA.
func signedByAnother(der []byte) bool {
	c, err := x509.ParseCertificate(der)
	return err == nil && !bytes.Equal(c.RawIssuer, c.RawSubject)
}

var base64Text = regexp.MustCompile(`[A-Za-z0-9+/]{200,}={0,2}`)

// find returns the certificates of a file, in PEM or in PEM that is in base64, as in a kubeconfig.
func find(content []byte) (list [][]byte) {
	texts := [][]byte{content}
	for _, word := range base64Text.FindAll(content, -1) {
		if text, err := base64.StdEncoding.DecodeString(string(word)); err == nil {
			texts = append(texts, text)
		}
	}
	for _, text := range texts {
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			if block.Type == "CERTIFICATE" {
				list = append(list, block.Bytes)
			}
		}
	}
	return list
}

// run runs a program in a folder, and returns its standard output.
func run(t *testing.T, dir, name string, words ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, words...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(words, " "), err, stderr.String())
	}
	return out
}

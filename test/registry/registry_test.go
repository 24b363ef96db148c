// Package registry holds kiln's archives of images against programs of others: what kiln serve
// hands out against the conformance suite of OCI's distribution specification, and what
// kiln archive --push writes against the registry of the distribution project. It is a module of
// its own because both are large.
package registry

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// programs is the folder of kiln and of the tools that go.mod names.
var programs string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "registry")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	programs = dir
	for _, build := range [][]string{
		{"-C", "../..", "-o", dir + "/kiln", "./cmd/kiln"},
		{"-o", dir + "/registry", "github.com/distribution/distribution/v3/cmd/registry"},
		{"-o", dir + "/conformance", "github.com/opencontainers/distribution-spec/conformance"},
	} {
		cmd := exec.Command("go", append([]string{"build"}, build...)...)
		cmd.Stderr = os.Stderr
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if err := cmd.Run(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %s\n", cmd, err)
			return 1
		}
	}
	return m.Run()
}

// TestConformance: kiln serve --archive passes the suite's tests of pulling from a registry that is
// read alone: manifests by tag and by digest, a list of builds with one that was left out, and
// blobs. To list tags and what refers to an image is another part of the specification.
func TestConformance(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2, 1000)
	s.kiln("archive", "cluster.yaml", "--from", "layout", "--out", "archive")
	address, _ := s.serve("archive")
	image := s.layout.images[0]
	suite := s.command("conformance")
	suite.Env = append(suite.Env, "OCI_VERSION=1.1", "OCI_RESULTS_DIR=results",
		"OCI_REGISTRY="+address, "OCI_TLS=disabled",
		"OCI_API_PUSH=false", "OCI_API_BLOBS_DELETE=false", "OCI_API_MANIFESTS_DELETE=false",
		"OCI_API_TAGS_DELETE=false", "OCI_API_TAGS_LIST=false", "OCI_API_REFERRER=false",
		"OCI_REPO1="+image.repository(), "OCI_RO_DATA_TAGS="+image.tag(),
		"OCI_RO_DATA_MANIFESTS="+strings.Join(image.manifests, " "),
		"OCI_RO_DATA_BLOBS="+strings.Join(image.blobs, " "))
	// Its exit code says nothing: it ends with a panic when it writes its third report about a
	// registry that is read alone.
	report, _ := suite.CombinedOutput()
	for _, line := range []string{
		`OCI Conformance Test: Pass`, `FAIL\.*: +0`, `Error\.*: +0`, `Skip\.*: +0`,
		`Ping\.*: +Pass`, `Blob get\.*: +Pass`, `Blob head\.*: +Pass`,
		`Manifest get by digest\.*: +Pass`, `Manifest get by tag\.*: +Pass`,
		`Manifest head by digest\.*: +Pass`, `Manifest head by tag\.*: +Pass`,
	} {
		if !regexp.MustCompile(`(?m)^ *` + line + `$`).Match(report) {
			t.Errorf("the report has no line %s", line)
		}
	}
	if t.Failed() {
		t.Logf("%s", report)
	}
}

// TestDistribution: an archive goes to the registry of the distribution project, with a password
// and the configuration of docs/air-gap.md, and comes back with the same bytes. A registry without
// the last line of that configuration says what to do.
func TestDistribution(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2, 1000)
	s.kiln("archive", "cluster.yaml", "--from", "layout", "--out", "archive")
	strict := s.registry("strict", false)
	out, err := s.command("kiln", "archive", "cluster.yaml", "--out", "archive",
		"--push", strict+"/k8s").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "make the archive with --all-platforms") {
		t.Errorf("a push to a registry that wants all builds: %v\n%s", err, out)
	}
	host := s.registry("site", true)
	out, err = s.command("kiln", "archive", "cluster.yaml", "--out", "archive",
		"--push", host+"/k8s").CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %s", err, out)
	}
	for _, image := range s.layout.images {
		registry, _, _ := strings.Cut(image.name, "/")
		row := fmt.Sprintf(`{host: %s, mirrors: ["http://%s/v2/k8s/%[1]s"], mirrorsOnly: true}`,
			registry, host)
		if !strings.Contains(string(out), row) {
			t.Errorf("it does not print %s:\n%s", row, out)
		}
	}
	words := []string{"archive", "cluster.yaml", "--out", "back"}
	s.kiln(append(words, s.mirrors(host+"/v2/k8s")...)...)
	if a, b := s.read("archive/SHA256SUMS"), s.read("back/SHA256SUMS"); a != b {
		t.Errorf("another archive comes back:\n%s\n%s", a, b)
	}
}

// Package ignition applies rendered documents with the Ignition engine to roots that look like
// Flatcar's, Fedora CoreOS' and openSUSE MicroOS'. A document that passes Ignition's validation can
// still fail on the machine, which then never starts.
package ignition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inside is set in the process that has mounts of its own.
const inside = "KILN_IGNITION_INSIDE"

// programs is where the tests' programs and their images' folders /usr are.
var programs string

// TestMain runs the tests where they alone see what they mount: when they end, all of it is gone.
func TestMain(m *testing.M) {
	if os.Getenv(inside) == "" {
		if missing := missing(); missing != "" {
			fmt.Println("skipped: this needs", missing)
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
	os.Exit(run(m))
}

// missing returns what this computer lacks, or "".
func missing() string {
	if os.Getuid() != 0 {
		return "root, to mount file systems and to make users"
	}
	for _, tool := range []string{
		"gcc", "useradd", "usermod", "groupadd", "groupmod", "systemctl", "chroot",
	} {
		if _, err := exec.LookPath(tool); err != nil {
			return tool
		}
	}
	if _, err := os.Stat("/usr/include/blkid/blkid.h"); err != nil {
		return "the headers of libblkid, with which Ignition links (libblkid-dev)"
	}
	if link, err := os.Readlink("/lib"); err != nil || link != "usr/lib" {
		return "a system whose /lib is a link to /usr/lib"
	}
	return ""
}

func run(m *testing.M) int {
	must(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	var err error
	programs, err = os.MkdirTemp("", "kiln-ignition")
	must(err)
	// Ignition writes ssh keys as the user whose they are.
	must(os.Chmod(programs, 0o755))
	defer os.RemoveAll(programs)
	build("../..", "kiln", "./cmd/kiln")
	// No root here has SELinux labels to restore.
	build(".", "ignition", "github.com/coreos/ignition/v2/internal",
		"-ldflags=-X github.com/coreos/ignition/v2/internal/distro.selinuxRelabel=false")
	for i := range systems {
		systems[i].image()
	}
	return m.Run()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func build(dir, name, pkg string, flags ...string) {
	arguments := append([]string{"build", "-trimpath", "-o", programs + "/" + name}, flags...)
	cmd := exec.Command("go", append(arguments, pkg)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("go build %s: %v\n%s", pkg, err, out))
	}
}

// document is the Ignition document of one machine.
type document struct {
	Name   string `json:"node"`
	OS     string `json:"os"`
	Format string `json:"format"`
	Path   string `json:"document"`

	content []byte
}

// String is the document's name among those of all cases.
func (d *document) String() string { return strings.TrimSuffix(d.Path, "/config.ign") }

// render returns the Ignition documents of a golden case, or of the configuration in text, whose
// bundle is made for it.
func render(t *testing.T, golden, text string) (documents []*document) {
	t.Helper()
	dir := t.TempDir()
	arguments := []string{"render", "--config", dir + "/cluster.yaml", "--out", dir + "/nodes"}
	if golden != "" {
		check(t, os.CopyFS(dir, os.DirFS(filepath.Join("../../testdata/clusters", golden))))
		config, err := os.ReadFile(dir + "/cluster.yaml")
		check(t, err)
		// OpenStack takes larger documents, and these are plain JSON.
		text = regexp.MustCompile(`platform: (aws|hetzner)\b`).
			ReplaceAllString(string(config), "platform: openstack")
		issueToday(t, dir+"/bundle/secrets.yaml")
		arguments = append(arguments, "--secrets", dir+"/bundle/secrets.yaml")
	}
	check(t, os.WriteFile(dir+"/cluster.yaml", []byte(text), 0o600))
	if out, err := exec.Command(programs+"/kiln", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("kiln render: %v\n%s", err, out)
	}
	var inventory struct{ Documents, Pools []*document }
	list, err := os.ReadFile(dir + "/nodes/inventory.json")
	check(t, err)
	check(t, json.Unmarshal(list, &inventory))
	for _, d := range append(inventory.Documents, inventory.Pools...) {
		if d.Format != "ignition" {
			continue
		}
		d.content, err = os.ReadFile(filepath.Join(dir, "nodes", d.Path))
		check(t, err)
		body, err := os.ReadFile(filepath.Join(dir, "nodes", filepath.Dir(d.Path), "body.ign"))
		if err == nil {
			d.content = fetchable(t, d.content, body)
		}
		documents = append(documents, d)
	}
	return documents
}

// issueToday writes today as the day of issue and of renewals into a golden bundle: a render
// refuses documents that have ended. It also takes the bundle from others, who may not read one.
func issueToday(t *testing.T, bundle string) {
	t.Helper()
	text, err := os.ReadFile(bundle)
	check(t, err)
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for field, date := range map[string]time.Time{
		"issued": today, "formationDeadline": today.Add(7 * 24 * time.Hour),
		"renewed": today, "previousEnds": today.Add(7 * 24 * time.Hour),
	} {
		line := regexp.MustCompile(`(?m)^( *)` + field + `: .*$`)
		text = line.ReplaceAll(text, []byte(`${1}`+field+`: "`+date.Format(time.RFC3339)+`"`))
	}
	check(t, os.WriteFile(bundle, text, 0o600))
	check(t, os.Chmod(bundle, 0o600))
}

var bodyURL = regexp.MustCompile(`"source":"https?://[^"]*"`)

// fetchable returns the document with its body's URL replaced by that of a server which has the
// body. The hash in the document stays.
func fetchable(t *testing.T, doc, body []byte) []byte {
	answer := func(w http.ResponseWriter, _ *http.Request) { w.Write(body) }
	server := httptest.NewServer(http.HandlerFunc(answer))
	t.Cleanup(server.Close)
	return bodyURL.ReplaceAll(doc, []byte(`"source":"`+server.URL+`"`))
}

// config is what a test reads of the config that Ignition has applied, after all merging.
type config struct {
	Storage struct {
		Directories, Files []struct {
			Path        string
			Mode        *uint32
			User, Group struct{ ID int }
		}
	}
	Systemd struct {
		Units []struct {
			Name          string
			Enabled, Mask bool
		}
	}
}

// ignite applies a document to a root, by those stages of Ignition that need no disks, and returns
// the config that Ignition made of it. The error has the stage's log.
func ignite(t *testing.T, s *system, root string, doc []byte) (*config, error) {
	t.Helper()
	dir := t.TempDir()
	check(t, os.WriteFile(dir+"/config.ign", doc, 0o600))
	for _, stage := range []string{"fetch", "files"} {
		cmd := exec.Command(
			programs+"/ignition",
			"--platform=file",
			"--stage="+stage,
			"--root="+root,
			"--log-to-stdout",
			"--config-cache="+dir+"/cache",
			"--state-file="+dir+"/state",
			"--neednet="+dir+"/neednet",
		)
		cmd.Env = append(os.Environ(),
			"IGNITION_CONFIG_FILE="+dir+"/config.ign",
			"IGNITION_SYSTEM_CONFIG_DIR="+s.initrd())
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("stage %s: %w\n%s", stage, err, verdict(out))
		}
	}
	applied, err := os.ReadFile(dir + "/cache")
	check(t, err)
	var c config
	check(t, json.Unmarshal(applied, &c))
	return &c, nil
}

// verdict returns what a log says of a failure, after which Ignition logs the whole config.
func verdict(log []byte) string {
	var out strings.Builder
	for line := range bytes.Lines(log) {
		if bytes.Contains(line, []byte("CRITICAL")) {
			out.Write(line)
		}
	}
	return out.String()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package registry

import (
	"bufio"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

// cluster is the configuration whose images the archives have.
const cluster = `apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: archived}
spec:
  kubernetesVersion: v1.36.3
  endpoint: 10.0.0.11:6443
  machines: {os: debian, platform: nocloud}
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
`

// site is a folder with a cluster, a layout that has its images, and the lock of these.
type site struct {
	t      *testing.T
	dir    string
	layout *layout
}

// newSite makes a site whose images have some layers of size bytes.
func newSite(t *testing.T, layers, size int) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir()}
	s.write("cluster.yaml", cluster)
	names := strings.Fields(s.kiln("images", "cluster.yaml"))
	s.layout = newLayout(t, filepath.Join(s.dir, "layout"), names, layers, size)
	var lock strings.Builder
	lock.WriteString("apiVersion: kiln.dev/v1alpha1\nkind: Lock\nartifacts: []\nimages:\n")
	for _, image := range s.layout.images {
		lock.WriteString(`- {name: "` + image.name + `", digest: "` + image.digest + "\"}\n")
	}
	s.write("cluster.lock.yaml", lock.String())
	return s
}

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// command returns a command in the site's folder. It ends with the test.
func (s *site) command(program string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), filepath.Join(programs, program), arguments...)
	cmd.Dir = s.dir
	cmd.Env = os.Environ()
	if program == "kiln" { // the registry reads variables of that kind too
		cmd.Env = append(cmd.Env, "REGISTRY_AUTH_FILE="+filepath.Join(s.dir, "auth.json"))
	}
	return cmd
}

// kiln runs kiln, and returns what it prints.
func (s *site) kiln(arguments ...string) string {
	s.t.Helper()
	out, err := s.command("kiln", arguments...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("kiln %s: %s\n%s", arguments, err, out)
	}
	return string(out)
}

// start starts a server, and returns what follows mark in a line of its log, up to the next ending.
func (s *site) start(cmd *exec.Cmd, mark, ending string) string {
	s.t.Helper()
	log, err := cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(log)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if _, rest, ok := strings.Cut(lines.Text(), mark); ok {
			go func() { // or its next line would wait
				for lines.Scan() {
				}
			}()
			word, _, _ := strings.Cut(rest, ending)
			return word
		}
	}
	s.t.Fatalf("%s does not start:\n%s", cmd, strings.Join(said, "\n"))
	return ""
}

// serve starts kiln serve with an archive, and returns its address.
func (s *site) serve(archive string) (address string, server *exec.Cmd) {
	s.t.Helper()
	s.kiln("render", "--config", "cluster.yaml", "--out", "nodes")
	server = s.command("kiln", "serve", "nodes", "--archive", archive, "--listen", "127.0.0.1:0",
		"--from", "127.0.0.1")
	return s.start(server, `"address":"`, `"`), server
}

// registry starts the registry of distribution in a new folder, with a password that kiln has, and
// returns its host. Its configuration is that of docs/air-gap.md, but for TLS: kiln asks a registry
// on the same computer without. Where it is not loose, the last line is left out.
func (s *site) registry(name string, loose bool) (host string) {
	s.t.Helper()
	page, err := os.ReadFile("../../docs/air-gap.md")
	if err != nil {
		s.t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml\nversion: 0.1\n")
	text, _, found := strings.Cut(text, "```")
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("htpasswd", "robot:"+string(hash)+"\n")
	lines := []string{"version: 0.1"}
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "tls:") && (loose || !strings.HasPrefix(line, "validation:")) {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	text = strings.Join(lines, "\n") + "\n"
	for _, row := range [][2]string{
		{`":443"`, "127.0.0.1:0"}, {"/srv/registry", filepath.Join(s.dir, name)},
		{"/etc/registry/htpasswd", filepath.Join(s.dir, "htpasswd")},
	} {
		if found = found && strings.Count(text, row[0]) == 1; !found {
			s.t.Fatalf("docs/air-gap.md has no configuration of distribution with %s", row[0])
		}
		text = strings.Replace(text, row[0], row[1], 1)
	}
	s.write(name+".yaml", text)
	host = s.start(s.command("registry", "serve", name+".yaml"), "listening on ", `"`)
	s.logIn(host)
	return host
}

// logIn gives kiln the login for a host.
func (s *site) logIn(host string) {
	login := base64.StdEncoding.EncodeToString([]byte("robot:secret"))
	s.write("auth.json", `{"auths": {"`+host+`": {"auth": "`+login+`"}}}`)
}

// mirrors returns the flags with which kiln asks a server about all registries of the images.
func (s *site) mirrors(url string) (flags []string) {
	for _, image := range s.layout.images {
		registry, _, _ := strings.Cut(image.name, "/")
		if row := registry + "=http://" + url + "/" + registry; !slices.Contains(flags, row) {
			flags = append(flags, "--registry", row)
		}
	}
	return flags
}

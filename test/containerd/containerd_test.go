// Package containerd starts the real containerd of every minor that a machine may have, on the
// configuration of every golden machine, and asks it over its socket what it has understood.
package containerd

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machine is what this test needs of a machine that test/trees has written.
type machine struct {
	Case, Format, OS, Name string
	Files                  []struct {
		Path    string
		Content []byte
	}
}

// setup is a configuration of containerd, and what the machine expects of it.
type setup struct {
	name  string            // of the first machine that has it
	files map[string]string // below /etc/containerd and /etc/cni, by path
	// endpoint is the socket at which the kubelet calls.
	endpoint string
	// image is the sandbox image: the first that the check images of the first boot asks for.
	image string
	// plugins is the folder in which the check cni-plugins of the first boot looks for plugins. A
	// machine whose network comes with an add-on has no such check, and then it is what the
	// configuration says.
	plugins string
	// loopback is set if containerd reaches this computer.
	loopback bool
}

const (
	configFile = "/etc/containerd/config.toml"
	hostsDir   = "/etc/containerd/certs.d"
	// pluginFolder is where CNI plugins are unless the profile of a machine says otherwise.
	pluginFolder = "/opt/cni/bin"
)

// setups are the different setups of all golden machines.
func setups(t *testing.T) []*setup {
	t.Helper()
	dir := os.Getenv("KILN_TREES")
	if dir == "" {
		dir = t.TempDir()
		command(t, "../..", "go", "run", "./test/trees", dir)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*", "*.json"))
	check(t, err)
	found := map[string]*setup{}
	machines := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		check(t, err)
		var list []machine
		check(t, json.Unmarshal(data, &list))
		machines += len(list)
		for i := range list {
			s := setupOf(t, &list[i], filepath.Base(filepath.Dir(filepath.Dir(path))))
			if s == nil {
				continue
			}
			if key := s.key(); found[key] == nil {
				found[key] = s
			}
		}
	}
	if machines < 400 || len(found) < 5 {
		t.Fatalf("%d machines have %d setups, want at least 400 and 5", machines, len(found))
	}
	t.Logf("%d machines have %d setups", machines, len(found))
	return slices.SortedFunc(maps.Values(found), func(a, b *setup) int {
		return strings.Compare(a.name, b.name)
	})
}

// setupOf returns a machine's setup, nil if the machine has no file of containerd.
func setupOf(t *testing.T, m *machine, minor string) *setup {
	t.Helper()
	s := &setup{
		name:  minor + "/" + m.Case + "/" + m.Name + "/" + m.Format,
		files: map[string]string{},
	}
	for _, f := range m.Files {
		text := string(f.Content)
		switch {
		case strings.HasPrefix(f.Path, "/etc/containerd/"), strings.HasPrefix(f.Path, "/etc/cni/"):
			s.files[f.Path] = text
		case f.Path == "/var/lib/kubelet/config.yaml":
			_, rest, _ := strings.Cut("\n"+text, "\ncontainerRuntimeEndpoint: unix://")
			s.endpoint, _, _ = strings.Cut(rest, "\n")
		case f.Path == "/etc/kiln/checks":
			if words := arguments(text, "images|wait|images "); len(words) > 1 {
				s.image = words[1]
			}
			if words := arguments(text, "cni-plugins|stop|exist "); len(words) > 1 {
				s.plugins = "/" + path.Dir(words[0])
			}
		}
	}
	if _, rest, _ := strings.Cut(s.files[configFile], `bin_dir = "`); s.plugins == "" {
		s.plugins, _, _ = strings.Cut(rest, `"`)
	}
	if s.files[configFile] == "" || s.endpoint == "" || s.image == "" {
		t.Errorf("%s: containerd's configuration has %d bytes, the kubelet calls at %q, "+
			"the first boot asks for %q", s.name, len(s.files[configFile]), s.endpoint, s.image)
		return nil
	}
	return s
}

// arguments are the words of the line of checks that begins so, without that beginning.
func arguments(checks, beginning string) []string {
	_, rest, _ := strings.Cut("\n"+checks, "\n"+beginning)
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Fields(strings.ReplaceAll(line, "|", " "))
}

// key is what containerd reads: the networks' files have other addresses on each machine.
func (s *setup) key() string {
	parts := []string{s.endpoint, s.image, s.plugins}
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		if strings.HasPrefix(path, "/etc/containerd/") {
			parts = append(parts, path, s.files[path])
		}
	}
	return strings.Join(parts, "\x00")
}

// hosts are the registries that have mirrors.
func (s *setup) hosts() (names []string) {
	for path := range s.files {
		if rel, err := filepath.Rel(hostsDir, path); err == nil &&
			filepath.Base(rel) == "hosts.toml" && strings.Count(rel, "/") == 1 {
			names = append(names, filepath.Dir(rel))
		}
	}
	slices.Sort(names)
	return names
}

// TestMachines: every containerd is content with the setup of every golden machine.
func TestMachines(t *testing.T) {
	t.Parallel()
	all := setups(t)
	for _, p := range programs {
		for _, s := range all {
			t.Run(p.minor+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				for _, finding := range findings(t, p, s) {
					t.Error(finding)
				}
			})
		}
	}
}

func command(t *testing.T, dir, name string, arguments ...string) {
	t.Helper()
	cmd := exec.Command(name, arguments...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

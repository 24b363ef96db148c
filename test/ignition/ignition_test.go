package ignition

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestDocuments: the Ignition engine applies the document of every machine of every golden case on
// that machine's system, and everything is then as the document and the hook's list have it.
func TestDocuments(t *testing.T) {
	t.Parallel()
	cases, err := os.ReadDir("../../testdata/clusters")
	check(t, err)
	for _, c := range cases {
		if strings.HasPrefix(c.Name(), "invalid-") {
			continue
		}
		t.Run(c.Name(), func(t *testing.T) {
			t.Parallel()
			for _, d := range render(t, c.Name(), "") {
				t.Run(d.String(), func(t *testing.T) {
					s := named(t, d.OS)
					root := s.root(t)
					applied, err := ignite(t, s, root, d.content)
					check(t, err)
					entries(t, root, applied)
					units(t, root, applied)
					hook(t, root)
					member(t, root, true)
				})
			}
		})
	}
}

// TestSystems: a control plane's document on each system, its own and the others. Where Ignition
// fails, the machine never starts; where the image's user etcd has other numbers, the first boot
// says so.
func TestSystems(t *testing.T) {
	t.Parallel()
	// the user to be made is there
	fails := map[string]bool{"microos on flatcar": true, "microos on fedora-coreos": true}
	for i := range systems {
		own := systems[i].name
		doc := render(t, "", fmt.Sprintf(controlPlane, own))[0]
		for j := range systems {
			s := &systems[j]
			name := own + " on " + s.name
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				root := s.root(t)
				applied, err := ignite(t, s, root, doc.content)
				if fails[name] {
					if err == nil {
						t.Fatal("Ignition made the user etcd, " +
							"where there is one in another database")
					}
					return
				}
				check(t, err)
				entries(t, root, applied)
				hook(t, root)
				member(t, root, own == s.name)
			})
		}
	}
}

const controlPlane = `apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: systems}
spec:
  kubernetesVersion: v1.36.3
  endpoint: api.systems.test:6443
  machines:
    os: %s
    platform: metal
    sshAuthorizedKeys:
    - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0Nn1wVbBMmsJ8l7LMf5N1cBMBb0TGsPc3ZJ5sBfVwN
  nodes:
  - name: cp-1
    role: control-plane
    addresses: [10.0.0.11]
    files:
    - {path: /opt/agent/pin, mode: "0600", owner: "1000:1001", content: "1234\n"}
    - {path: /root/.profile, content: "umask 077\n"}
    - {path: /srv/agent/config, owner: "0:0", content: "{}\n"}
`

// TestSecondDatabase: what the other tests rely on. To make a user that the second user database
// has already is what Ignition cannot do, whether the image's numbers are asked for or others.
func TestSecondDatabase(t *testing.T) {
	t.Parallel()
	const config = `{"ignition":{"version":"3.4.0"},"passwd":{` +
		`"groups":[{"name":"etcd","gid":%[1]d,"system":true}],` +
		`"users":[{"name":"etcd","uid":%[1]d,"primaryGroup":"etcd","homeDir":"/var/lib/etcd",` +
		`"noCreateHome":true,"shell":"/usr/sbin/nologin","system":true}]}}`
	for _, row := range []struct {
		system string
		id     int
		fails  string
	}{
		{"flatcar", 2379, "groupmod"},
		{"flatcar", 232, "groupmod"},
		{"fedora-coreos", 2379, "groupmod"},
		{"microos", 2379, ""},
	} {
		t.Run(fmt.Sprintf("%s %d", row.system, row.id), func(t *testing.T) {
			t.Parallel()
			s := named(t, row.system)
			_, err := ignite(t, s, s.root(t), fmt.Appendf(nil, config, row.id))
			if row.fails == "" {
				check(t, err)
			} else if err == nil || !strings.Contains(err.Error(), `"`+row.fails+`"`) {
				t.Fatalf("want a failure of %s: %v", row.fails, err)
			}
		})
	}
}

// TestReadOnlyFolders checks where Ignition can write files and where it fails. render refuses the
// folders where it fails.
func TestReadOnlyFolders(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		system, path string
		fails        bool
	}{
		{"flatcar", "/usr/local/bin/agent", true},
		{"flatcar", "/usr/share/agent", true},
		{"flatcar", "/opt/bin/agent", false},
		{"fedora-coreos", "/usr/local/bin/agent", false},
		{"fedora-coreos", "/usr/share/agent", true},
		{"fedora-coreos", "/opt/bin/agent", false},
		{"fedora-coreos", "/agent", true},
		{"microos", "/usr/local/bin/agent", false},
		{"microos", "/usr/share/agent", true},
		{"microos", "/agent", true},
	} {
		t.Run(row.system+row.path, func(t *testing.T) {
			t.Parallel()
			s := named(t, row.system)
			doc := `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"` + row.path +
				`"}]}}`
			if _, err := ignite(t, s, s.root(t), []byte(doc)); (err != nil) != row.fails {
				t.Error(err)
			}
		})
	}
}

func named(t *testing.T, name string) *system {
	t.Helper()
	i := slices.IndexFunc(systems, func(s system) bool { return s.name == name })
	if i < 0 {
		t.Fatalf("no root of %s", name)
	}
	return &systems[i]
}

// entries: every file and directory of the config is there, with its mode, and belongs to the
// number in the config.
func entries(t *testing.T, dir string, c *config) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	check(t, err)
	defer root.Close()
	for _, e := range append(slices.Clone(c.Storage.Directories), c.Storage.Files...) {
		info, err := root.Stat(strings.TrimPrefix(e.Path, "/"))
		check(t, err)
		if e.Mode != nil && info.Mode().Perm() != fs.FileMode(*e.Mode) {
			t.Errorf("%s: mode %04o, want %04o", e.Path, info.Mode().Perm(), *e.Mode)
		}
		if own := info.Sys().(*syscall.Stat_t); e.User.ID != 0 &&
			(int(own.Uid) != e.User.ID || int(own.Gid) != e.Group.ID) {
			t.Errorf("%s: it is %d:%d's, want %d:%d", e.Path, own.Uid, own.Gid,
				e.User.ID, e.Group.ID)
		}
	}
}

// units: systemd, which reads the presets in the first boot, enables what the config enables and
// starts nothing that is masked.
func units(t *testing.T, root string, c *config) {
	t.Helper()
	for _, u := range c.Systemd.Units {
		want := map[bool]string{u.Enabled: "enabled", u.Mask: "masked"}[true]
		if want == "enabled" {
			preset := exec.Command("systemctl", "--root="+root, "preset", u.Name)
			if out, err := preset.CombinedOutput(); err != nil {
				t.Errorf("systemctl preset %s: %v: %s", u.Name, err, out)
			}
		}
		out, _ := exec.Command("systemctl", "--root="+root, "is-enabled", u.Name).Output()
		if want != "" && strings.TrimSpace(string(out)) != want {
			t.Errorf("unit %s: it is %q, want %s", u.Name, out, want)
		}
	}
}

// begins is where in the hook its functions end.
const begins = "\ncase ${1-} in\n"

// shell runs the hook's functions and then a command in the root.
func shell(t *testing.T, root, command string) (string, error) {
	t.Helper()
	boot, err := os.ReadFile(root + "/etc/kiln/boot")
	check(t, err)
	functions, _, found := strings.Cut(string(boot), begins)
	if !found {
		t.Fatal("the hook has no functions")
	}
	cmd := exec.Command("chroot", root, "/bin/sh")
	cmd.Stdin = strings.NewReader(functions + "\nmkdir -p \"$run\" \"$lib\"\n" +
		command + "\nover=yes\n")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// hook: the hook's first step finds every file of its list, undamaged, and has neither mode nor
// owner to put right.
func hook(t *testing.T, root string) {
	t.Helper()
	if out, err := shell(t, root, "step_files"); err != nil || out != "" {
		t.Errorf("step files: %v\n%s", err, out)
	}
}

var runAs = regexp.MustCompile(`(?m)^ *runAs(User|Group): ([0-9]+)$`)

// member: on a machine with a member of etcd, what is etcd's belongs to the numbers that its pod
// runs as, and the first boot finds that these are the user and group etcd, or does not if ours is
// false.
func member(t *testing.T, root string, ours bool) {
	t.Helper()
	pod, err := os.ReadFile(root + "/etc/kubernetes/manifests/etcd.yaml")
	if os.IsNotExist(err) {
		return
	}
	check(t, err)
	ids := map[string]uint64{}
	for _, match := range runAs.FindAllStringSubmatch(string(pod), -1) {
		ids[match[1]], _ = strconv.ParseUint(match[2], 10, 32)
	}
	for _, dir := range []string{"/var/lib/etcd", "/etc/etcd/pki"} {
		check(t, filepath.WalkDir(root+dir, func(file string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			if own := info.Sys().(*syscall.Stat_t); uint64(own.Uid) != ids["User"] ||
				uint64(own.Gid) != ids["Group"] {
				t.Errorf("%s: it is %d:%d's, but the pod runs as %d:%d",
					strings.TrimPrefix(file, root), own.Uid, own.Gid, ids["User"], ids["Group"])
			}
			return nil
		}))
	}
	checks, err := os.ReadFile(root + "/etc/kiln/checks")
	check(t, err)
	_, line, found := strings.Cut("\n"+string(checks), "\netcd-user|")
	if !found {
		t.Fatal("the first boot does not look at the user etcd")
	}
	call := strings.Split(line, "|")[1]
	out, err := shell(t, root,
		". /etc/kiln/steps\n"+call+" || { echo \"$found\"; over=yes; exit 1; }")
	if (err == nil) != ours {
		t.Errorf("%s: %v\n%s", call, err, out)
	}
}

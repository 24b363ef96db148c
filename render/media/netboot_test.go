package media

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ignition "github.com/coreos/ignition/v2/config/v3_4"
	"github.com/stretchr/testify/require"

	"kiln/render/compress"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// document is an Ignition document without a secret.
func document(name string) []byte {
	return []byte(`{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/hostname","contents":{"source":"data:,` + name + `"},"mode":420}]}}`)
}

// fleet has a machine of each kind.
func fleet() []Machine {
	ign := func(name, os, platform, mac string) Machine {
		return Machine{Name: name, Dir: name, OS: os, Platform: platform, Ignition: true, MAC: mac, Files: []File{{"config.ign", document(name)}}}
	}
	init := func(name, os, mac string, more ...File) Machine {
		return Machine{Name: name, Dir: name, OS: os, Platform: "metal", MAC: mac, Files: append([]File{
			{"user-data", []byte("#cloud-config\n# " + name + "\n")}, {"meta-data", []byte(`instance-id: "` + name + `"` + "\n")},
		}, more...)}
	}
	pool := ign("small", "flatcar", "metal", "")
	pool.Dir, pool.Pool = "pools/small", true
	return []Machine{
		ign("cp-1", "flatcar", "metal", "52:54:00:00:00:11"),
		ign("cp-2", "fedora-coreos", "libvirt", "52:54:00:00:00:12"),
		ign("cp-3", "fedora-coreos", "metal", "52:54:00:00:00:13"),
		init("worker-1", "debian", "52:54:00:00:00:21", File{"network-config", []byte("version: 2\n")}),
		init("worker-2", "ubuntu", "52:54:00:00:00:22"),
		init("worker-3", "ubuntu", ""),
		ign("worker-4", "microos", "metal", "52:54:00:00:00:24"),
		pool,
	}
}

func netboot() *Netboot {
	return &Netboot{Cluster: "prod", ID: "0198c5c5-0000-7000-8000-000000000000", URL: "http://10.0.0.5:8080"}
}

// files takes all files, sorted, and all errors.
func files(n *Netboot, machines []Machine) (*Result, []File, error) {
	r := &Result{}
	var out []File
	var errs []error
	for f, err := range n.Files(func(yield func(*Machine, error) bool) {
		for i := range machines {
			if !yield(&machines[i], nil) {
				return
			}
		}
	}, r) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return r, out, errors.Join(errs...)
}

// cases are the goldens: what the files of a network boot are.
var cases = map[string]func(*Netboot){
	"url": func(*Netboot) {},
	"initrd": func(n *Netboot) {
		n.Initrd = true
		n.Disks = map[string]string{"cp-3": "/dev/nvme0n1"}
	},
	"matchbox": func(n *Netboot) {
		n.URL, n.Matchbox = "https://boot.example.com/kiln", "http://matchbox.example.com:8080"
		n.Disks = map[string]string{"": "/dev/sda", "cp-3": "/dev/nvme0n1"}
		n.Images = map[string]Images{
			"flatcar":       {Kernel: "http://images.example.com/${buildarch}/vmlinuz", Initrds: []string{"http://images.example.com/${buildarch}/initrd", "firmware.cpio"}},
			"fedora-coreos": {RootFS: "fcos/rootfs.img"},
		}
		n.Append = map[string][]string{"debian": {"console=ttyS0", "net.ifnames=0"}}
	},
}

// TestInstance: cloud-init learns from the kernel's command line which instance it is, so that a
// later boot asks for nothing; only what such a line may hold stands there.
func TestInstance(t *testing.T) {
	t.Parallel()
	for meta, want := range map[string]string{
		"instance-id: \"kiln-worker-1-0a1b2c3d\"\nlocal-hostname: \"worker-1\"\n": "ds=nocloud;i=kiln-worker-1-0a1b2c3d;s=http://10.0.0.5:8080/worker-1/",
		"instance-id: \"a;s=http://b\"\n":                                         "ds=nocloud;s=http://10.0.0.5:8080/worker-1/",
		"local-hostname: worker-1\n":                                              "ds=nocloud;s=http://10.0.0.5:8080/worker-1/",
	} {
		r, _, err := files(netboot(), []Machine{{
			Name: "worker-1", Dir: "worker-1", OS: "ubuntu", Platform: "metal", MAC: "52:54:00:00:00:21",
			Files: []File{{"user-data", []byte("#cloud-config\n")}, {"meta-data", []byte(meta)}},
		}})
		require.NoError(t, err)
		require.Equal(t, want, r.Boots[0].Args[1])
	}
}

// TestGolden compares every file with those in testdata/netboot. Initrds lie there unpacked from gzip, whose bytes differ between releases of Go.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := netboot()
			change(n)
			r, list, err := files(n, fleet())
			require.NoError(t, err)
			got := map[string]string{}
			for _, f := range list {
				if plain, ok := strings.CutSuffix(f.Path, ".gz"); ok {
					data, err := compress.Gunzip(f.Data)
					require.NoError(t, err)
					f = File{plain, data}
				}
				got[f.Path] = string(f.Data)
			}
			dir := filepath.Join("..", "..", "testdata", "netboot", name)
			if *update {
				require.NoError(t, os.RemoveAll(dir))
				for name, data := range got {
					require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
					require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644))
				}
			}
			want := map[string]string{}
			require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				data, err := os.ReadFile(filepath.Join(dir, name))
				want[name] = string(data)
				return err
			}))
			require.Equal(t, want, got, "make golden rewrites them; read the diff")
			again, same, err := files(n, fleet())
			require.NoError(t, err)
			require.Equal(t, r, again)
			require.Equal(t, list, same)
		})
	}
}

// TestSkipped: who gets no script is told, and why.
func TestSkipped(t *testing.T) {
	t.Parallel()
	r, _, err := files(netboot(), fleet())
	require.NoError(t, err)
	require.Len(t, r.Skipped, 2)
	require.Equal(t, "worker-3", r.Skipped[0].Name)
	require.Contains(t, r.Skipped[0].Why, "it has no MAC; add mac: ")
	require.Equal(t, "worker-4", r.Skipped[1].Name)
	require.Equal(t, "kiln knows no network boot of microos; use an image: kiln iso", r.Skipped[1].Why)
}

// TestInitrds reads the appended initrds with programs of other projects: where each system's Ignition looks, and only root.
func TestInitrds(t *testing.T) {
	t.Parallel()
	n := netboot()
	n.Disks = map[string]string{"cp-3": "/dev/sda"}
	_, list, err := files(n, fleet())
	require.NoError(t, err)
	for path, want := range map[string]struct{ list, inside string }{
		"initrd/cp-1.cpio.gz": {"drwxr-xr-x usr\ndrwxr-xr-x usr/share\ndrwxr-xr-x usr/share/oem\n-rw------- usr/share/oem/config.ign\n", string(document("cp-1"))},
		"initrd/cp-2.cpio.gz": {"-rw------- config.ign\n", string(document("cp-2"))},
		"initrd/cp-3.cpio.gz": {"-rw------- config.ign\n", `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/coreos/installer.d/kiln.yaml"`},
	} {
		i := slices.IndexFunc(list, func(f File) bool { return f.Path == path })
		require.GreaterOrEqual(t, i, 0, path)
		data, err := compress.Gunzip(list[i].Data)
		require.NoError(t, err)
		var names strings.Builder
		for line := range strings.Lines(read(t, data, "cpio", "-itv", "--quiet")) {
			words := strings.Fields(line)
			names.WriteString(words[0] + " " + words[len(words)-1] + "\n")
		}
		require.Equal(t, want.list, names.String())
		require.Contains(t, read(t, list[i].Data, "bsdtar", "-xOf", "-", "*config.ign"), want.inside)
	}
}

// read runs a program over an archive.
func read(t *testing.T, archive []byte, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed: apt-get install cpio libarchive-tools", name)
	}
	cmd := exec.Command(name, args...)
	cmd.Stdin = bytes.NewReader(archive)
	out, err := cmd.Output()
	require.NoError(t, err, name)
	return string(out)
}

// TestIgnition holds all configurations to Ignition's own validator of 3.4, which is also Matchbox's: it serves an empty one in place of what that
// cannot read.
func TestIgnition(t *testing.T) {
	t.Parallel()
	n := netboot()
	cases["matchbox"](n)
	_, list, err := files(n, fleet())
	require.NoError(t, err)
	seen := 0
	for _, f := range list {
		if !strings.HasSuffix(f.Path, ".ign") {
			continue
		}
		seen++
		config, report, err := ignition.Parse(f.Data)
		require.NoError(t, err, f.Path)
		require.Empty(t, report.Entries, f.Path)
		require.Equal(t, "3.4.0", config.Ignition.Version)
	}
	require.Equal(t, 5+2+4, seen) // documents, installers, Matchbox's
}

// TestMatchbox holds groups and profiles to the shapes that Matchbox reads (storagepb, v0.11.0): no other fields, an id that is the file's name, a
// profile that is there, a MAC in lower case with colons, and a configuration that is there.
func TestMatchbox(t *testing.T) {
	t.Parallel()
	type profile struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Ignition string `json:"ignition_id"`
		Cloud    string `json:"cloud_id"`
		Generic  string `json:"generic_id"`
		Boot     struct {
			Kernel string   `json:"kernel"`
			Initrd []string `json:"initrd"`
			Args   []string `json:"args"`
		} `json:"boot"`
	}
	type group struct {
		ID       string            `json:"id"`
		Name     string            `json:"name"`
		Profile  string            `json:"profile"`
		Selector map[string]string `json:"selector"`
		Metadata map[string]any    `json:"metadata"`
	}
	strict := func(data []byte, into any) {
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(into))
	}
	n := netboot()
	cases["matchbox"](n)
	_, list, err := files(n, fleet())
	require.NoError(t, err)
	profiles, groups, there := map[string]profile{}, 0, map[string]bool{}
	for _, f := range list {
		there[f.Path] = true
		if strings.HasPrefix(f.Path, "matchbox/profiles/") {
			var p profile
			strict(f.Data, &p)
			require.Equal(t, "matchbox/profiles/"+p.ID+".json", f.Path)
			profiles[p.ID] = p
		}
	}
	for _, f := range list {
		if strings.HasPrefix(f.Path, "matchbox/groups/") {
			var g group
			strict(f.Data, &g)
			groups++
			require.Equal(t, "matchbox/groups/"+g.ID+".json", f.Path)
			require.Contains(t, profiles, g.Profile)
			require.Regexp(t, macAddress, g.Selector["mac"])
		}
	}
	require.Len(t, profiles, 6)
	require.Equal(t, 5, groups) // the pool has none
	for _, p := range profiles {
		require.NotEmpty(t, p.Boot.Kernel)
		for i, initrd := range p.Boot.Initrd {
			require.Equal(t, "initrd="+strings.Fields(initrd)[1], p.Boot.Args[i])
		}
		if p.Ignition != "" {
			require.True(t, there["matchbox/ignition/"+p.Ignition], p.Ignition)
			require.Contains(t, p.Boot.Args, "ignition.config.url=http://matchbox.example.com:8080/ignition?uuid=${uuid}&mac=${mac:hexhyp}")
		}
	}
}

// TestScripts: the rules of iPXE hold for every script: one word is one word, and every initrd is named in the arguments.
func TestScripts(t *testing.T) {
	t.Parallel()
	for _, change := range cases {
		n := netboot()
		change(n)
		_, list, err := files(n, fleet())
		require.NoError(t, err)
		for _, f := range list {
			if !strings.HasSuffix(f.Path, ".ipxe") {
				continue
			}
			require.True(t, bytes.HasPrefix(f.Data, []byte("#!ipxe\n")), f.Path)
			require.NotContains(t, string(f.Data), "'", "iPXE knows no quotes")
			require.NotContains(t, string(f.Data), `"`)
			if f.Path == "boot.ipxe" {
				continue
			}
			lines := strings.Split(strings.TrimSuffix(string(f.Data), "\n"), "\n")
			require.Regexp(t, `^kernel \S+( \S+)+$`, lines[2])
			names := 0
			for _, line := range lines[3 : len(lines)-1] {
				words := strings.Fields(line)
				require.Equal(t, []string{"initrd", "--name"}, words[:2])
				require.Contains(t, strings.Fields(lines[2]), "initrd="+words[2])
				names++
			}
			require.Equal(t, names, strings.Count(lines[2], " initrd="))
			require.Equal(t, "boot", lines[len(lines)-1])
		}
	}
}

// TestWrong: all that is wrong comes back at once.
func TestWrong(t *testing.T) {
	t.Parallel()
	machines := fleet()
	machines[0].MAC = "52-54-00-00-00-11"
	machines[2].MAC = machines[1].MAC
	n := netboot()
	n.Disks = map[string]string{"cp-1": "/dev/sda", "cp-9": "/dev/sdb"}
	_, _, err := files(n, machines)
	require.EqualError(t, err, `node cp-1: mac "52-54-00-00-00-11": want six pairs of lower-case hexadecimal digits, such as 52:54:00:12:34:56
node cp-3: mac 52:54:00:00:00:12 is that of cp-2 too; one machine has it
the disk /dev/sda: no machine cp-1 is there with fedora-coreos; the other systems do not install themselves
the disk /dev/sdb: no machine cp-9 is there with fedora-coreos; the other systems do not install themselves`)

	n = netboot()
	n.Cluster = "prod\nshell"
	machines = fleet()[:2]
	machines[0].Platform, machines[1].Name = "metal || shell", "${x}"
	_, _, err = files(n, machines)
	require.ErrorContains(t, err, `cluster "prod\nshell": kiln renders no such name, and it would stand in scripts; render again`)
	require.ErrorContains(t, err, `platform "metal || shell": `)
	require.ErrorContains(t, err, `node "${x}": `)

	n = netboot()
	n.Disks = map[string]string{"": "/dev/sda"}
	_, _, err = files(n, fleet()[:1])
	require.EqualError(t, err, "the disk /dev/sda: no machine is there with fedora-coreos; the other systems do not install themselves")

	machines = fleet()[:2]
	machines[0].OS, machines[1].Ignition = "ubuntu", false
	_, _, err = files(netboot(), machines)
	require.EqualError(t, err, `node cp-1: its document is not in the format of ubuntu; render again
node cp-2: its document is not in the format of fedora-coreos; render again`)

	machines = fleet()[5:7] // neither has a script
	_, _, err = files(netboot(), machines)
	require.EqualError(t, err, `no machine can boot over the network
node worker-3: it has no MAC; add mac: "52:54:00:…" to the node in cluster.yaml, render, and run kiln netboot again
node worker-4: kiln knows no network boot of microos; use an image: kiln iso`)

	n = netboot()
	n.Append = map[string][]string{"flatcar": {strings.Repeat("x", 2000)}}
	_, _, err = files(n, fleet()[:1])
	require.ErrorContains(t, err, "node cp-1: the kernel's arguments have 2")

	machines = fleet()
	machines[0].Name, machines[0].Dir = "boot.ipxe", "boot.ipxe"
	_, _, err = files(netboot(), machines)
	require.ErrorContains(t, err, "boot.ipxe would be a file and the folder of boot.ipxe/config.ign; rename the machine")
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"http://10.0.0.5:8080", "https://boot.example.com/a/b", "http://[fd00::5]:8080"} {
		require.NoError(t, Address(good), good)
	}
	for bad, want := range map[string]string{
		"10.0.0.5:8080":         "write it like http://10.0.0.5:8080",
		"tftp://10.0.0.5":       "write it like",
		"http://":               "write it like",
		"http://u:secret@h":     "everybody reads its password",
		"http://h/?x=1":         "no ? and no #",
		"http://h/#a":           "no ? and no #",
		"http://h/a b":          "iPXE knows no quotes",
		"http://größe.example/": "not ASCII",
	} {
		require.ErrorContains(t, Address(bad), want, bad)
	}
}

package media

import (
	"bytes"
	"encoding/base64"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/pack/compress"
	"kiln.dev/kiln/test/need"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// ignitionOf returns an Ignition document without a secret.
func ignitionOf(name string) []byte {
	return []byte(`{"ignition":{"version":"3.4.0"},"storage":{"files":[` +
		`{"path":"/etc/hostname","contents":{"source":"data:,` + name + `"},"mode":420}]}}`)
}

// fleet has a machine of each kind.
func fleet() []Machine {
	ign := func(name, os, platform, mac string) Machine {
		return Machine{
			Name: name, Dir: name, OS: os, Platform: platform, Ignition: true, MAC: mac,
			Files: []File{{"config.ign", ignitionOf(name)}},
		}
	}
	init := func(name, os, mac string, more ...File) Machine {
		return Machine{
			Name: name, Dir: name, OS: os, Platform: "metal", MAC: mac,
			Files: append([]File{
				{"user-data", []byte("#cloud-config\n# " + name + "\n")},
				{"meta-data", []byte(`instance-id: "` + name + `"` + "\n")},
			}, more...),
		}
	}
	pool := ign("small", "flatcar", "metal", "")
	pool.Dir, pool.Pool = "pools/small", true
	return []Machine{
		ign("cp-1", "flatcar", "metal", "52:54:00:00:00:11"),
		ign("cp-2", "fedora-coreos", "libvirt", "52:54:00:00:00:12"),
		ign("cp-3", "fedora-coreos", "metal", "52:54:00:00:00:13"),
		init("worker-1", "debian", "52:54:00:00:00:21",
			File{"network-config", []byte("version: 2\n")}),
		init("worker-2", "ubuntu", "52:54:00:00:00:22"),
		init("worker-3", "ubuntu", ""),
		ign("worker-4", "microos", "metal", "52:54:00:00:00:24"),
		pool,
	}
}

func netboot() *Netboot {
	return &Netboot{
		Cluster: "prod", ID: "0198c5c5-0000-7000-8000-000000000000", URL: "http://10.0.0.5:8080",
	}
}

// files returns all files, sorted, and all errors.
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

// cases are the settings of the goldens.
var cases = map[string]func(*Netboot){
	"url": func(*Netboot) {},
	"initrd": func(n *Netboot) {
		n.Initrd = true
		n.Disks = map[string]string{"cp-1": "/dev/vda", "cp-3": "/dev/nvme0n1"}
	},
	"matchbox": func(n *Netboot) {
		n.URL = "https://boot.example.com/kiln"
		n.Matchbox = "http://matchbox.example.com:8080"
		n.Disks = map[string]string{"": "/dev/sda", "cp-3": "/dev/nvme0n1"}
		n.Images = map[string]Images{
			"flatcar": {
				Kernel: "http://images.example.com/${buildarch}/vmlinuz",
				Initrds: []string{
					"http://images.example.com/${buildarch}/initrd", "firmware.cpio",
				},
				Disk: "http://images.example.com/${buildarch}/flatcar_production_image.bin.bz2",
			},
			"fedora-coreos": {RootFS: "fcos/rootfs.img"},
		}
		n.Append = map[string][]string{"debian": {"console=ttyS0", "net.ifnames=0"}}
	},
}

// TestInstance: the kernel's command line names cloud-init's instance, so that a later boot fetches
// nothing. An instance-id that such a line cannot hold is left out.
func TestInstance(t *testing.T) {
	t.Parallel()
	const seed = "s=http://10.0.0.5:8080/worker-1/"
	for meta, want := range map[string]string{
		"instance-id: \"worker-1-0a1b\"\nlocal-hostname: a\n": "ds=nocloud;i=worker-1-0a1b;" + seed,
		"instance-id: \"a;s=http://b\"\n":                     "ds=nocloud;" + seed,
		"local-hostname: worker-1\n":                          "ds=nocloud;" + seed,
	} {
		r, _, err := files(netboot(), []Machine{{
			Name: "worker-1", Dir: "worker-1", OS: "ubuntu", Platform: "metal",
			MAC:   "52:54:00:00:00:21",
			Files: []File{{"user-data", []byte("#cloud-config\n")}, {"meta-data", []byte(meta)}},
		}})
		require.NoError(t, err)
		require.Equal(t, want, r.Boots[0].Args[1])
	}
}

// TestGolden compares every file with those in testdata/netboot. The initrds there are not
// compressed, because gzip's bytes differ between releases of Go. The name of a script stands there
// in its place.
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
			script, err := os.ReadFile("kiln-install")
			require.NoError(t, err)
			for _, f := range list {
				if plain, ok := strings.CutSuffix(f.Path, ".gz"); ok {
					data, err := compress.Gunzip(f.Data)
					require.NoError(t, err)
					f = File{plain, data}
				}
				got[f.Path] = strings.ReplaceAll(string(f.Data),
					base64.StdEncoding.EncodeToString(script), "kiln-install")
			}
			dir := filepath.Join("../../../..", "testdata", "netboot", name)
			if *update {
				require.NoError(t, os.RemoveAll(dir))
				for name, data := range got {
					require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
					require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644))
				}
			}
			want := map[string]string{}
			collect := func(name string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				data, err := os.ReadFile(filepath.Join(dir, name))
				want[name] = string(data)
				return err
			}
			require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", collect))
			require.Equal(t, want, got, "make golden rewrites them; read the diff")
			again, same, err := files(n, fleet())
			require.NoError(t, err)
			require.Equal(t, r, again)
			require.Equal(t, list, same)
		})
	}
}

// TestSkipped: the result names the machines without a script, and the reasons.
func TestSkipped(t *testing.T) {
	t.Parallel()
	r, _, err := files(netboot(), fleet())
	require.NoError(t, err)
	require.Len(t, r.Skipped, 2)
	require.Equal(t, "worker-3", r.Skipped[0].Name)
	require.Contains(t, r.Skipped[0].Why, "it has no MAC; add mac: ")
	require.Equal(t, "worker-4", r.Skipped[1].Name)
	require.Equal(t, "kiln knows no network boot of microos; use an image: kiln iso",
		r.Skipped[1].Why)
}

// TestInitrds reads the appended initrds with programs of other projects. The configuration is
// where the system's Ignition looks for it, and only root may read it.
func TestInitrds(t *testing.T) {
	t.Parallel()
	n := netboot()
	n.Disks = map[string]string{"cp-3": "/dev/sda"}
	_, list, err := files(n, fleet())
	require.NoError(t, err)
	const oem = `drwxr-xr-x usr
drwxr-xr-x usr/share
drwxr-xr-x usr/share/oem
-rw------- usr/share/oem/config.ign
`
	const installer = `{"ignition":{"version":"3.4.0"},"storage":{"files":[` +
		`{"path":"/etc/coreos/installer.d/kiln.yaml"`
	for path, want := range map[string]struct{ list, inside string }{
		"initrd/cp-1.cpio.gz": {oem, string(ignitionOf("cp-1"))},
		"initrd/cp-2.cpio.gz": {"-rw------- config.ign\n", string(ignitionOf("cp-2"))},
		"initrd/cp-3.cpio.gz": {"-rw------- config.ign\n", installer},
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
		inside := read(t, list[i].Data, "bsdtar", "-xOf", "-", "*config.ign")
		require.Contains(t, inside, want.inside)
	}
}

// read runs a program over an archive. It skips the test if the program is not here.
func read(t *testing.T, archive []byte, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(need.Program(t, name), args...)
	cmd.Stdin = bytes.NewReader(archive)
	out, err := cmd.Output()
	require.NoError(t, err, name)
	return string(out)
}

// TestScripts: every script keeps the rules of iPXE. No argument has spaces or quotes, and the
// kernel's arguments name every initrd.
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

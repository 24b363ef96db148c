package media

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/need"
)

// TestImage: the image that each machine reads, as isoinfo finds it.
func TestImage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		os, platform    string
		ignition        bool
		label, document string
		others          string
	}{
		{"ubuntu", "metal", false, "cidata", "/user-data", "/meta-data /network-config"},
		{"debian", "openstack", false, "cidata", "/user-data", "/meta-data /network-config"},
		{"flatcar", "proxmox", true, "cidata", "/user-data", ""},
		{"flatcar", "nocloud", true, "cidata", "/user-data", ""},
		{"flatcar", "kubevirt", true, "config-2", "/openstack/latest/user_data", ""},
		{"fedora-coreos", "openstack", true, "config-2", "/openstack/latest/user_data", ""},
		{"microos", "metal", true, "ignition", "/ignition/config.ign", ""},
		{"microos", "openstack", true, "config-2", "/openstack/latest/user_data", ""},
	} {
		t.Run(row.os+" on "+row.platform, func(t *testing.T) {
			t.Parallel()
			m := Machine{
				Name: "cp-1", OS: row.os, Platform: row.platform, Ignition: row.ignition,
				Files: []File{{"config.ign", []byte("{}")}},
			}
			if !row.ignition {
				m.Files = []File{
					{"user-data", []byte("{}")},
					{"meta-data", []byte("instance-id: i\n")},
					{"network-config", []byte("version: 2\n")},
				}
			}
			label, image, err := m.Image()
			require.NoError(t, err)
			require.Equal(t, row.label, label)
			isoinfo := need.Program(t, "isoinfo")
			path := filepath.Join(t.TempDir(), "image.iso")
			require.NoError(t, os.WriteFile(path, image, 0o600))
			about, err := exec.Command(isoinfo, "-d", "-i", path).Output()
			require.NoError(t, err)
			require.Contains(t, string(about), "Volume id: "+row.label+"\n")
			list, err := exec.Command(isoinfo, "-R", "-f", "-i", path).Output()
			require.NoError(t, err)
			want := append(strings.Fields(row.others), row.document)
			for _, name := range strings.Fields(string(list)) {
				if !strings.HasPrefix(row.document, name+"/") { // a folder
					require.Contains(t, want, name)
				}
			}
			document, err := exec.Command(isoinfo, "-R", "-x", row.document, "-i", path).Output()
			require.NoError(t, err)
			require.Equal(t, "{}", string(document))
		})
	}
}

// TestNoImage: where Ignition reads no disk, the error says what else to do.
func TestNoImage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ os, platform, remedy string }{
		{"flatcar", "metal", "write the document to its disk (flatcar-install -i, " +
			"coreos-installer install --ignition-file), or boot it over the network: kiln netboot"},
		{"fedora-coreos", "libvirt",
			"hand QEMU the document: -fw_cfg name=opt/com.coreos/config,file=config.ign"},
		{"microos", "aws", "give it the document as user-data"},
	} {
		m := Machine{
			Name: "cp-1", OS: row.os, Platform: row.platform, Ignition: true,
			Files: []File{{"config.ign", []byte("{}")}},
		}
		_, _, err := m.Image()
		require.EqualError(t, err, "node cp-1: "+row.os+" on "+row.platform+
			" reads Ignition from no disk; "+row.remedy)
	}
}

// fetch has cloud-init's own NoCloud look for its documents with the arguments of a kernel, and
// prints what it found.
const fetch = `
import sys, tempfile
from unittest import mock
from cloudinit import helpers, util
from cloudinit.sources import DataSourceNoCloud as source
empty = tempfile.mkdtemp()
config = {"datasource": {"NoCloud": {"fs_label": None}}}
with mock.patch.object(util, "get_cmdline", return_value=sys.argv[1]), \
        mock.patch("cloudinit.dmi.read_dmi_data", return_value=None), \
        mock.patch.object(util, "find_devs_with", return_value=[]):
    paths = helpers.Paths({"cloud_dir": empty, "run_dir": empty})
    ds = source.DataSourceNoCloudNet(config, None, paths)
    assert ds._get_data(), "nothing was found"
    print(ds.metadata["instance-id"])
    print(ds.userdata_raw.decode(), end="")
`

// TestCloudInitFetches: cloud-init finds its documents by the arguments in the scripts, on a server
// that has only the files of the network boot, and asks for no missing file.
func TestCloudInitFetches(t *testing.T) {
	t.Parallel()
	need.Program(t, "cloud-init")
	served := map[string][]byte{}
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		data, ok := served[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			t.Errorf("%s is not there", r.URL.Path)
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(data)
	}))
	defer server.Close()
	n := netboot()
	n.URL = server.URL
	r, list, err := files(n, fleet())
	require.NoError(t, err)
	for _, f := range list {
		served[f.Path] = f.Data
	}
	for _, name := range []string{"worker-1", "worker-2"} {
		b := r.Boots[slices.IndexFunc(r.Boots, func(b Boot) bool { return b.Node == name })]
		cmd := exec.Command(need.Python, "-c", fetch, strings.Join(b.Args, " "))
		cmd.Env = append(os.Environ(), "no_proxy=*")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, name+"\n#cloud-config\n# "+name+"\n", string(out))
	}
	require.GreaterOrEqual(t, asked.Load(), int32(6))
}

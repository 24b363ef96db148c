package media

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

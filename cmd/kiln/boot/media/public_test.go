package media

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/media/iso9660"
	"kiln.dev/kiln/render/pack/compress"
)

// TestCheckPublic: what kiln netboot writes without a secret, and what systems boot, is public;
// keys, documents, and what holds a document are not, whatever their names are.
func TestCheckPublic(t *testing.T) {
	t.Parallel()
	plain, err := CoreOS(&Settings{Disk: "/dev/sda"})
	require.NoError(t, err)
	whole, err := CoreOS(&Settings{Document: ignitionOf("cp-1")})
	require.NoError(t, err)
	flatcar, err := Flatcar(&Settings{Disk: "/dev/sda"})
	require.NoError(t, err)
	wholeFlatcar, err := Flatcar(&Settings{Document: ignitionOf("cp-1")})
	require.NoError(t, err)
	image, err := iso9660.Image("cidata", []iso9660.File{{Path: "user-data", Data: []byte("x")}})
	require.NoError(t, err)
	archive, err := cpio([]archiveFile{
		{Path: "usr/share/oem/config.ign", Mode: 0o600, Data: ignitionOf("cp-1")},
	})
	require.NoError(t, err)
	vendor, err := cpio([]archiveFile{
		{Path: "init", Mode: 0o755, Data: []byte("#!/bin/sh\n")},
	})
	require.NoError(t, err)
	const kubeconfig = "apiVersion: v1\nkind: Config\n"
	long := []byte("apiVersion: v1\n" + strings.Repeat("# ä\n", HeadSize))
	for _, row := range []struct {
		path string
		data []byte
		want error
	}{
		{"boot.ipxe", []byte("#!ipxe\nboot\n"), nil},
		{"ipxe/pools/small.ipxe", []byte(kubeconfig), errScript},
		{"installer/cp-1.ign", plain, nil},
		{"installer/cp-1.ign", whole, errConfig},
		{"installer/cp-1.ign", flatcar, nil},
		{"installer/cp-1.ign", wholeFlatcar, errConfig},
		{"installer/cp-1.ign", ignitionOf("cp-1"), errConfig},
		{"installer/cp-1.ign", append(bytes.Clone(plain), plain...), errConfig},
		{"images/flatcar/kernel", []byte("MZ\x00\x00"), nil},
		{"images/flatcar/kernel", nil, nil},
		{"images/flatcar/kernel", compress.Gzip([]byte("MZ\x00\x00")), nil},
		{"images/flatcar/initrd", vendor, nil},
		{"images/flatcar/image.bin.bz2", []byte("BZh91AY&SY\xaf\x10\x00"), nil},
		{"images/flatcar/image.bin.bz2.sig", []byte("\x89\x023\x04\x00\x01\x08\x00"), nil},
		{"images/flatcar/initrd", compress.Gzip(vendor), nil},
		{"images/flatcar/initrd", archive, errInitrd},
		{"images/flatcar/initrd", compress.Gzip(archive), errInitrd},
		{"images/flatcar/cp-1.iso", image, errImage},
		{"images/flatcar/admin.conf", []byte(kubeconfig), errText},
		{"images/flatcar/admin.conf", []byte("\xff\xfea\x00"), errText},
		{"images/flatcar/bundle", long, errText},
		{"images/flatcar/user-data", compress.Gzip([]byte("#cloud-config\n")), errText},
		{"images/flatcar/user-data", compress.Gzip(long), errText},
		{"images/flatcar/bundle.age", []byte("age-encryption.org/v1\n\x00"), errAge},
	} {
		head := row.data[:min(len(row.data), HeadSize)]
		require.ErrorIs(t, CheckPublic(row.path, head), row.want, "%s %.20q", row.path, head)
	}
}

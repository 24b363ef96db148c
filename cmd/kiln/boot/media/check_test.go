package media

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/media/iso9660"
	"kiln.dev/kiln/render/pack/compress"
)

// TestWrong: all errors come back at once.
func TestWrong(t *testing.T) {
	t.Parallel()
	machines := fleet()
	machines[0].MAC = "52-54-00-00-00-11"
	machines[2].MAC = machines[1].MAC
	n := netboot()
	n.Disks = map[string]string{"worker-1": "/dev/sda", "cp-9": "/dev/sdb"}
	_, _, err := files(n, machines)
	const noInstaller = " with flatcar, fedora-coreos; the other systems do not install themselves"
	require.EqualError(t, err, strings.Join([]string{
		`node cp-1: mac "52-54-00-00-00-11": want six pairs of lower-case hexadecimal digits, ` +
			"such as 52:54:00:12:34:56",
		"node cp-3: mac 52:54:00:00:00:12 is also that of cp-2; every machine has its own",
		"the disk /dev/sdb: there is no machine cp-9" + noInstaller,
		"the disk /dev/sda: there is no machine worker-1" + noInstaller,
	}, "\n"))

	n = netboot()
	n.Cluster = "prod\nshell"
	machines = fleet()[:2]
	machines[0].Platform, machines[1].Name = "metal || shell", "${x}"
	_, _, err = files(n, machines)
	require.ErrorContains(t, err, `cluster "prod\nshell": kiln renders no such name, `+
		"and it would stand in scripts; render again")
	require.ErrorContains(t, err, `platform "metal || shell": `)
	require.ErrorContains(t, err, `node "${x}": `)

	n = netboot()
	n.Disks = map[string]string{"": "/dev/sda"}
	_, _, err = files(n, fleet()[4:5])
	require.EqualError(t, err, "the disk /dev/sda: there is no machine"+noInstaller)

	machines = fleet()[:2]
	machines[0].OS, machines[1].Ignition = "ubuntu", false
	_, _, err = files(netboot(), machines)
	require.EqualError(t, err, `node cp-1: its document is not in the format of ubuntu; render again
node cp-2: its document is not in the format of fedora-coreos; render again`)

	machines = fleet()[5:7] // neither has a script
	_, _, err = files(netboot(), machines)
	require.EqualError(t, err, strings.Join([]string{
		"no machine can boot over the network",
		`node worker-3: it has no MAC; add mac: "52:54:00:…" to the node in cluster.yaml, ` +
			"render, and run kiln netboot again",
		"node worker-4: kiln knows no network boot of microos; use an image: kiln iso",
	}, "\n"))

	n = netboot()
	n.Append = map[string][]string{"flatcar": {strings.Repeat("x", 2000)}}
	_, _, err = files(n, fleet()[:1])
	require.ErrorContains(t, err, "node cp-1: the kernel's arguments have 2")

	machines = fleet()
	machines[0].Name, machines[0].Dir = "boot.ipxe", "boot.ipxe"
	_, _, err = files(netboot(), machines)
	require.ErrorContains(t, err,
		"boot.ipxe would be a file and the folder of boot.ipxe/config.ign; rename the machine")
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"http://10.0.0.5:8080", "https://boot.example.com/a/b", "http://[fd00::5]:8080",
	} {
		require.NoError(t, Address(good), good)
	}
	for bad, want := range map[string]string{
		"10.0.0.5:8080":         "write it like http://10.0.0.5:8080",
		"tftp://10.0.0.5":       "write it like",
		"http://":               "write it like",
		"http://u:secret@h":     "everybody can read its password",
		"http://h/?x=1":         "no ? and no #",
		"http://h/#a":           "no ? and no #",
		"http://h/a b":          "iPXE knows no quotes",
		"http://größe.example/": "not ASCII",
	} {
		require.ErrorContains(t, Address(bad), want, bad)
	}
}

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

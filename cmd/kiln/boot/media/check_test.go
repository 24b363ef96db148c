package media

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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

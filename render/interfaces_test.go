package render_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/test/need"
)

// withInterfaces calls do with each machine of the case interfaces of one format.
func withInterfaces(
	t *testing.T, format target.Format, do func(t *testing.T, m *plan.Machine, n *node.Node),
) {
	t.Helper()
	r := load(t, "interfaces")
	for i := range r.Machines() {
		m := &r.Plan.Machines[i]
		if m.System.Format != format {
			continue
		}
		n := nodes(t, "interfaces")[i]
		t.Run(m.Name, func(t *testing.T) { do(t, m, n) })
	}
}

// TestNetworkdReads: systemd-networkd itself accepts its files without a complaint, and knows the
// bonds and VLANs in them. It runs in a network of its own and sees a folder of its own.
func TestNetworkdReads(t *testing.T) {
	t.Parallel()
	need.Program(t, "systemd-networkd")
	need.Right(t, need.OwnNetwork)
	withInterfaces(t, target.Ignition, func(t *testing.T, m *plan.Machine, n *node.Node) {
		if m.System.Network != target.Networkd {
			return
		}
		dir := t.TempDir()
		want := []string{}
		for _, f := range n.Files {
			if strings.HasPrefix(f.Path, "/etc/systemd/network/") {
				file := filepath.Join(dir, filepath.Base(f.Path))
				require.NoError(t, os.WriteFile(file, f.Content, 0o644))
				require.NoError(t, os.Chmod(file, 0o644))
			}
		}
		for i := range m.Interfaces {
			if nic := &m.Interfaces[i]; nic.Bond != nil {
				want = append(want, nic.Name+`: loaded "bond"`)
			} else if nic.VLAN != nil {
				want = append(want, nic.Name+`: loaded "vlan"`)
			}
		}
		log, err := need.Networkd(dir)
		require.NoError(t, err, log)
		require.NotContains(t, log, "/etc/systemd/network/", log)
		for _, text := range want {
			require.Contains(t, log, text)
		}
	})
}

// understood is a program in Python. cloud-init reads a network-config in it and writes it for
// every program that it knows to configure a network. The program prints what cloud-init has read.
const understood = `
import json, sys, tempfile, yaml
from cloudinit.net import network_state, renderers, sysconfig
from cloudinit.distros import rhel
def read(renderer=None):
    with open(sys.argv[1]) as f:
        return network_state.parse_net_config_data(
            yaml.safe_load(f), renderer=renderer, skip_broken=False)
for name, module in sorted(renderers.NAME_TO_RENDERER.items()):
    settings = {
        "netplan": {"postcmds": False},
        "sysconfig": rhel.Distro.renderer_configs["sysconfig"],
    }.get(name, {})
    if name in sys.argv[2:]:
        renderer = module.Renderer(settings)
        folder = tempfile.mkdtemp(dir=sys.argv[1] + ".d")
        renderer.render_network_state(read(renderer), target=folder)
print(json.dumps({i["name"]: i for i in read().iter_interfaces()}))
`

// TestNetworkConfigUnderstood: cloud-init's own reader finds in the network-config what the plan
// says, and can write it for the programs that configure the network.
func TestNetworkConfigUnderstood(t *testing.T) {
	t.Parallel()
	need.Program(t, "cloud-init")
	withInterfaces(t, target.CloudInit, func(t *testing.T, m *plan.Machine, n *node.Node) {
		path := filepath.Join(t.TempDir(), "network-config")
		require.NoError(t, os.WriteFile(path, n.NetworkConfig, 0o600))
		require.NoError(t, os.Mkdir(path+".d", 0o700))
		out, err := exec.Command(need.Python, "-c", understood, path,
			"netplan", "networkd", "sysconfig", "network-manager").Output()
		require.NoError(t, err)
		type route struct {
			Gateway string `json:"gateway"`
			Network string `json:"network"`
			Prefix  int    `json:"prefix"`
		}
		var got map[string]struct {
			Type    string `json:"type"`
			MAC     string `json:"mac_address"`
			MTU     int    `json:"mtu"`
			Mode    string `json:"bond-mode"`
			MIIMon  string `json:"bond-miimon"`
			Master  string `json:"bond-master"`
			VLAN    int    `json:"vlan_id"`
			Link    string `json:"vlan-raw-device"`
			Subnets []struct {
				Type    string   `json:"type"`
				Address string   `json:"address"`
				Prefix  int      `json:"prefix"`
				Gateway string   `json:"gateway"`
				DNS     []string `json:"dns_nameservers"`
				Routes  []route  `json:"routes"`
			} `json:"subnets"`
		}
		require.NoError(t, json.Unmarshal(out, &got))
		require.Len(t, got, len(m.Interfaces), "%v", slices.Collect(maps.Keys(got)))
		for i := range m.Interfaces {
			want, has := &m.Interfaces[i], got[m.Interfaces[i].Name]
			require.Equal(t, want.MAC, has.MAC)
			require.Equal(t, want.MTU, has.MTU)
			require.Equal(t, want.Master, has.Master)
			if want.Bond != nil {
				require.Equal(t, []any{"bond", want.Bond.Mode, strconv.Itoa(want.Bond.MIIMon)},
					[]any{has.Type, has.Mode, has.MIIMon})
			}
			if want.VLAN != nil {
				require.Equal(t, []any{"vlan", want.VLAN.ID, want.VLAN.Link},
					[]any{has.Type, has.VLAN, has.Link})
			}
			addresses, routes, dns := []string{}, 0, []string{}
			for _, s := range has.Subnets {
				if s.Type == "static" {
					addresses = append(addresses, fmt.Sprintf("%s/%d", s.Address, s.Prefix))
				}
				dns = append(dns, s.DNS...)
				routes += len(s.Routes)
				if s.Gateway != "" {
					routes++
				}
			}
			require.Equal(t, fmt.Sprint(want.Addresses), fmt.Sprint(addresses))
			require.Equal(t, fmt.Sprint(want.DNS), fmt.Sprint(dns))
			require.Equal(t, len(want.Routes), routes)
		}
	})
}

// TestNetworkConfigSchema holds the network-config to cloud-init's own schema, if the installed
// cloud-init has one.
func TestNetworkConfigSchema(t *testing.T) {
	t.Parallel()
	program := need.Program(t, "cloud-init")
	need.Program(t, need.CloudInitSchemas)
	withInterfaces(t, target.CloudInit, func(t *testing.T, _ *plan.Machine, n *node.Node) {
		path := filepath.Join(t.TempDir(), "network-config")
		require.NoError(t, os.WriteFile(path, n.NetworkConfig, 0o600))
		out, err := exec.Command(program, "schema",
			"--schema-type", "network-config", "--config-file", path).CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
}

// TestInterfaceAddresses: the inventory lists the addresses from which a machine may ask for its
// document, without the addresses of its Node.
func TestInterfaceAddresses(t *testing.T) {
	t.Parallel()
	r := load(t, "interfaces")
	extra := map[string][]string{}
	for i := range r.Machines() {
		d, err := r.Document(i)
		require.NoError(t, err)
		extra[d.Entry.Node] = d.Entry.InterfaceAddresses
		for _, a := range d.Entry.InterfaceAddresses {
			require.NotContains(t, d.Entry.Addresses, a)
		}
	}
	require.Empty(t, extra["cp-1"])
	require.Equal(t, []string{"10.8.0.21"}, extra["debian"])
}

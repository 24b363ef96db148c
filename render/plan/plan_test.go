package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// Parts of a cluster.yaml: head stands before the spec's other lines, first begins its nodes.
const (
	head = `apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: test}
spec:
`
	version = "  kubernetesVersion: v1.36.3\n"
	debian  = "  machines: {os: debian}\n"
	first   = "  nodes:\n  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}\n"
)

// parse returns the plan of a cluster of one control plane. spec holds lines of its spec, nodes its
// other nodes.
func parse(t *testing.T, spec, nodes string) *plan.Plan {
	t.Helper()
	text := head + version + spec + first + nodes
	c, err := config.Parse("cluster.yaml", []byte(text), nil)
	require.NoError(t, err)
	return plan.New(c)
}

// values returns the values of a flag, in its order.
func values(args []config.Arg, name string) []string {
	var out []string
	for _, a := range args {
		if a.Name == name {
			out = append(out, a.Value)
		}
	}
	return out
}

// TestExtraArgs: a flag of the user replaces kiln's of that name, all repetitions stay, and the
// user's order stays.
func TestExtraArgs(t *testing.T) {
	t.Parallel()
	p := parse(t, debian+`
  controlPlane:
    apiServer:
      extraArgs:
      - {name: authorization-mode, value: "RBAC,Node"}
      - {name: v, value: '2'}
      - {name: v, value: '3'}
`, "")
	args := p.APIServerFlags(&p.Machines[0]).Args()
	require.Equal(t, []string{"RBAC,Node"}, values(args, "authorization-mode"))
	require.Equal(t, []string{"2", "3"}, values(args, "v"))
	require.Equal(t, "authorization-mode", args[len(args)-3].Name)
}

// TestFlags: each of kiln's flags has a name as a command line has it, and a value.
func TestFlags(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{debian, debian + `
  network: {cni: none}
  security: {profile: cis, alwaysPullImages: true}
  certificates: {signing: online}
  pools: [{name: blue, labels: {zone: a}}]
`} {
		p := parse(t, spec, "")
		for i := range p.Machines {
			m := &p.Machines[i]
			lines := map[string][]config.Arg{"kubelet": p.KubeletFlags(m)}
			if m.ControlPlane() {
				lines[target.APIServer] = p.APIServerFlags(m).Args()
				lines[target.ControllerManager] = p.ControllerManagerFlags().Args()
				lines[target.Scheduler] = p.SchedulerFlags().Args()
			}
			for program, args := range lines {
				for _, a := range args {
					flag := program + ": --" + a.Name
					require.Regexp(t, `^[a-z0-9]+(-[a-z0-9]+)*$`, a.Name, flag)
					// Empty files turn signing off (kube-controller-manager's defaults are paths).
					if !strings.HasPrefix(a.Name, "cluster-signing-") {
						require.NotEmpty(t, a.Value, "%s has no value", flag)
					}
				}
			}
		}
	}
}

// TestIdentity: MAC and UUID of a machine are spelt as the machine spells them.
func TestIdentity(t *testing.T) {
	t.Parallel()
	for _, mac := range []string{
		"52:54:00:AB:CD:EF", "52-54-00-ab-cd-ef", "5254.00AB.cdef", "525400abcdef",
	} {
		p := parse(t, debian, `
  - name: w-1
    role: worker
    addresses: [10.0.0.21]
    mac: '`+mac+`'
    productUUID: 4C4C4544-0042-3510-8054-B7C04F4E3232
`)
		m := p.Machines[1]
		require.Equal(t, "w-1", m.Name)
		require.Equal(t, "52:54:00:ab:cd:ef", m.MAC)
		require.Equal(t, "4c4c4544-0042-3510-8054-b7c04f4e3232", m.ProductUUID)
	}
}

// TestInterfacesReachTheMachine: a node may have interfaces wherever cloud-init reads them beside
// the user-data.
func TestInterfacesReachTheMachine(t *testing.T) {
	t.Parallel()
	for _, platform := range target.Platforms {
		if platform.NetworkConfig {
			p := parse(t, debian, `
  - name: w-1
    role: worker
    addresses: [10.0.0.21]
    platform: `+platform.Name+`
    interfaces: [{mac: 5254.0012.3456, dhcp4: true}]
`)
			require.Equal(t, "enx525400123456", p.Machines[1].Interfaces[0].Name)
		}
	}
}

// TestNameSources: the configuration lets a pool ask exactly those platforms that can be asked.
func TestNameSources(t *testing.T) {
	t.Parallel()
	for _, platform := range target.Platforms {
		text := head + version + debian + "  network: {cni: none}\n" + first +
			"  pools: [{name: blue, nodeName: metadata, platform: " + platform.Name + "}]\n"
		c, err := config.Parse("cluster.yaml", []byte(text), nil)
		if platform.NameSource == nil {
			require.ErrorContains(t, err, "nodeName: metadata is for the platforms ", platform.Name)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, platform.NameSource, plan.New(c).Machines[1].NameSource)
	}
}

// TestRoles: the labels that a kubelet registers with. The hook sets a control plane's role; a
// worker's kubelet has to write its roles in another spelling.
func TestRoles(t *testing.T) {
	t.Parallel()
	const controlPlane = "  controlPlane: " +
		"{machines: {labels: {node-role.kubernetes.io/control-plane: ''}}}\n"
	p := parse(t, debian+controlPlane+`
  network: {cni: none}
  workers: {machines: {labels: {node-role.kubernetes.io/worker: '', zone: a}}}
  pools: [{name: disks, labels: {node-role.kubernetes.io/disk: ssd}}]
`, "  - {name: w-1, role: worker, addresses: [10.0.0.21]}\n")
	require.True(t, p.Roles)
	for name, want := range map[string]struct{ labels, roles []string }{
		"cp-1": {},
		"w-1":  {[]string{"role.kiln.dev/worker=,zone=a"}, []string{"worker="}},
		"disks": {
			[]string{"role.kiln.dev/disk=ssd,role.kiln.dev/worker=,zone=a"},
			[]string{"disk=ssd", "worker="},
		},
	} {
		named := func(m plan.Machine) bool { return m.Name == name }
		m := &p.Machines[slices.IndexFunc(p.Machines, named)]
		require.Equal(t, want.labels, values(p.KubeletFlags(m), "node-labels"), name)
		require.Equal(t, want.roles, m.Roles(), name)
	}
	require.False(t, parse(t, debian+controlPlane, "").Roles)
}

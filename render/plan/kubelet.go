package plan

import (
	"slices"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
)

// KubeletFlags returns the kubelet's flags on m: only those that have no field in its
// configuration. The kubelet's name is the machine's host name, which its unit sets (CIS 4.2.7).
// Without a kubeconfig it runs standalone, as on an etcd machine.
func (p *Plan) KubeletFlags(m *Machine) []config.Arg {
	args := flags{"config": KubeletConfig}
	if m.Joins() {
		args["kubeconfig"] = KubeletConf
	}
	if m.Pool {
		args["bootstrap-kubeconfig"] = BootstrapConf
	} else {
		var ips []string
		for _, a := range m.Addresses {
			ips = append(ips, a.String())
		}
		args["node-ip"] = strings.Join(ips, ",")
	}
	if labels := m.registeredLabels(); len(labels) > 0 {
		args["node-labels"] = strings.Join(labels, ",")
	}
	if len(m.Logins()) > 0 {
		args["image-credential-provider-bin-dir"] = target.BinDir
		args["image-credential-provider-config"] = LoginsConfig
	}
	return args.with(m.Settings.KubeletExtraArgs)
}

// Logins returns the registries of m's where the kubelet logs in.
func (m *Machine) Logins() (list []config.Registry) {
	for _, r := range m.Settings.Registries {
		if r.Username != "" {
			list = append(list, r)
		}
	}
	return list
}

// registeredLabels returns the labels, key=value and sorted, that m's kubelet gives to its Node:
// those of the configuration, with a worker's roles in a spelling that a kubelet may use. The hook
// sets the role of a control plane.
func (m *Machine) registeredLabels() (pairs []string) {
	if !m.Joins() {
		return nil
	}
	for key, value := range m.Settings.Labels {
		if role, ok := strings.CutPrefix(key, config.RoleLabel); ok {
			if m.ControlPlane() {
				continue
			}
			key = config.OwnRoleLabel + role
		}
		pairs = append(pairs, key+"="+value)
	}
	slices.Sort(pairs)
	return pairs
}

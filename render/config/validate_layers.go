package config

import (
	"slices"
	"strings"

	"kiln/render/target"
)

// layers checks what follows from all layers of a machine together. A mistake that many machines
// share is reported once, at the layer that makes it.
func (v *checker) layers() {
	said := map[string]bool{}
	var without []layered
	machines, tokens := 0, 0
	check := func(m layered) {
		machines++
		v.kernelDefaults(m, said)
		if m.OS == "" {
			without = append(without, m)
		} else {
			v.format(m, said)
			v.readOnly(m, said)
		}
	}
	for i := range v.c.Spec.Nodes {
		n := &v.c.Spec.Nodes[i]
		m := layered{v.c.EffectiveNode(i), n.Name, v.spec.Key("nodes").Index(i)}
		check(m)
		if len(n.Interfaces) > 0 {
			v.delivered(m, n.Interfaces)
		}
		if m.Identity != "token" || n.Role == roleEtcd {
			continue
		}
		if v.c.Spec.Certificates.Signing == "offline" {
			v.reportLayer(said, m, "identity", "token needs certificates.signing online: the "+
				"machine asks the cluster for its certificate")
		}
		if n.Role == roleControlPlane {
			if tokens++; tokens == len(v.controlPlanes) {
				v.reportLayer(said, m, "identity", "token joins a running cluster; "+
					"with it on every control plane there would never be one. "+
					"Let them have certificates")
			}
		}
	}
	for i := range v.c.Spec.Pools {
		m := layered{v.c.EffectivePool(i), v.c.Spec.Pools[i].Name, v.spec.Key("pools").Index(i)}
		check(m)
		v.namedByPlatform(m, v.c.Spec.Pools[i].NodeName)
	}

	systems := strings.Join(target.SystemNames(nil), ", ")
	if machines > 0 && len(without) == machines {
		v.report(v.spec.Key("machines").Key("os"),
			"missing; write the machines' operating system, one of %s", systems)
		return
	}
	for _, m := range without {
		v.report(m.at.Key("os"), "missing, and no layer of %s sets it; write one of %s", m.name,
			systems)
	}
}

// format checks that a machine's extras are for the program that its system sets itself up with.
func (v *checker) format(m layered, said map[string]bool) {
	if m.Butane != "" && !m.ignition() {
		v.reportLayer(said, m, narrower(m, "butane", "os"),
			"butane is for systems with Ignition (%s), and %s has %s; remove it, or set butane: \"\" for that machine",
			strings.Join(target.SystemNames(ignition), ", "), m.name, m.OS)
	}
	if len(m.CloudConfig) > 0 && m.ignition() {
		v.reportLayer(said, m, narrower(m, "cloudConfig", "os"), "cloudConfig is for systems "+
			"with cloud-init, and %s has %s; move it to the layers of the others, "+
			"and use butane here", m.name, m.OS)
	}
	if users, ok := m.CloudConfig["users"].([]any); ok && len(m.SSHAuthorizedKeys) > 0 && !slices.Contains(users, any("default")) {
		v.reportLayer(said, m, narrower(m, "cloudConfig", "sshAuthorizedKeys"),
			"sshAuthorizedKeys are for the image's default user, whom cloudConfig.users (of %s) "+
				"leaves out; begin that list with default, or give the keys to the users in it", m.name)
	}
	if len(m.NetworkConfig) > 0 && m.ignition() {
		v.reportLayer(said, m, narrower(m, "networkConfig", "os"), "networkConfig is for systems "+
			"with cloud-init, and %s has %s; move it to the layers of the others, "+
			"and use butane here", m.name, m.OS)
	}
}

// readOnly checks that a machine's files lie where its system lets them be written.
func (v *checker) readOnly(m layered, said map[string]bool) {
	system := m.system()
	for _, f := range m.Files {
		if filePathProblem(f.Path) == "" && !system.CanWrite(f.Path) {
			v.reportLayer(said, m, narrower(m, "files", "os"), "%s cannot be written on %s, "+
				"which %s has: the folder is read-only; put the file below /etc, /opt or /var",
				quote(f.Path), m.OS, m.name)
		}
	}
}

// delivered checks that a node's interfaces reach it as they are, and that nothing else configures
// them.
func (v *checker) delivered(m layered, list []Interface) {
	at := m.at.Key("interfaces")
	if len(m.NetworkConfig) > 0 {
		v.report(at, "stands beside networkConfig (%s), and one file has room for one of the "+
			"two; move networkConfig to the layers of other machines, or say here what it says",
			layerOf(m, "networkConfig"))
	}
	platform, _ := target.PlatformNamed(m.Platform)
	if m.OS != "" && !m.ignition() && !platform.NetworkConfig {
		v.report(at, "cloud-init takes the interfaces of %s from what %s says of them, "+
			"and not from a document; remove it, or correct the platform", m.name, m.Platform)
	}
	if m.OS == "" || m.ignition() || m.system().Netplan {
		return
	}
	for i, n := range list {
		for j, r := range n.Routes {
			if r.Metric != 0 {
				v.report(at.Index(i).Key("routes").Index(j).Key("metric"),
					"%s has %s, whose cloud-init knows no metrics; "+
						"remove it, and keep one route to each network", m.name, m.OS)
			}
		}
	}
}

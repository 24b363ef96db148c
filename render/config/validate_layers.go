package config

import (
	"slices"
	"strings"

	"kiln/render/target"
	"kiln/render/yamlpath"
)

// layered is one machine with all of its layers together.
type layered struct {
	Effective
	name string
	at   *yamlpath.Location // the node or pool
}

// system returns the row of the machine's operating system.
func (m *layered) system() target.System {
	s, _ := target.SystemNamed(m.OS)
	return s
}

// ignition reports whether Ignition sets the machine up.
func (m *layered) ignition() bool {
	s := m.system()
	return ignition(&s)
}

// ignition reports whether Ignition sets the machines of an operating system up.
func ignition(s *target.System) bool { return s.Format == target.Ignition }

// layers checks what follows from all layers of a machine together. A mistake that many machines share is reported
// once, at the layer that makes it.
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
			v.reportLayer(said, m, "identity", "token needs certificates.signing online: the machine asks the cluster for its certificate")
		}
		if n.Role == roleControlPlane {
			if tokens++; tokens == len(v.controlPlanes) {
				v.reportLayer(said, m, "identity", "token joins a running cluster; with it on every control plane there would never be one. Let them have certificates")
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
		v.report(v.spec.Key("machines").Key("os"), "missing; write the machines' operating system, one of %s", systems)
		return
	}
	for _, m := range without {
		v.report(m.at.Key("os"), "missing, and no layer of %s sets it; write one of %s", m.name, systems)
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
		v.reportLayer(said, m, narrower(m, "cloudConfig", "os"), "cloudConfig is for systems with cloud-init, and %s has %s; move it to the layers of the others, and use butane here", m.name, m.OS)
	}
	if users, ok := m.CloudConfig["users"].([]any); ok && len(m.SSHAuthorizedKeys) > 0 && !slices.Contains(users, any("default")) {
		v.reportLayer(said, m, narrower(m, "cloudConfig", "sshAuthorizedKeys"), "sshAuthorizedKeys are for the image's default user, whom cloudConfig.users (of %s) leaves out; begin that list with default, or give the keys to the users in it", m.name)
	}
	if len(m.NetworkConfig) > 0 && m.ignition() {
		v.reportLayer(said, m, narrower(m, "networkConfig", "os"), "networkConfig is for systems with cloud-init, and %s has %s; move it to the layers of the others, and use butane here", m.name, m.OS)
	}
}

// readOnly checks that a machine's files lie where its system lets them be written.
func (v *checker) readOnly(m layered, said map[string]bool) {
	system := m.system()
	for _, f := range m.Files {
		if pathProblem(f.Path) == "" && !system.CanWrite(f.Path) {
			v.reportLayer(said, m, narrower(m, "files", "os"), "%s cannot be written on %s, which %s has: the folder is read-only; put the file below /etc, /opt or /var", quote(f.Path), m.OS, m.name)
		}
	}
}

// delivered checks that a node's interfaces reach it as they are, and that nothing else configures them.
func (v *checker) delivered(m layered, list []Interface) {
	at := m.at.Key("interfaces")
	if len(m.NetworkConfig) > 0 {
		v.report(at, "stands beside networkConfig (%s), and one file has room for one of the two; move networkConfig to the layers of other machines, or say here what it says", layerOf(m, "networkConfig"))
	}
	platform, _ := target.PlatformNamed(m.Platform)
	if m.OS != "" && !m.ignition() && !platform.NetworkConfig {
		v.report(at, "cloud-init takes the interfaces of %s from what %s says of them, and not from a document; remove it, or correct the platform", m.name, m.Platform)
	}
	if m.OS == "" || m.ignition() || m.system().Netplan {
		return
	}
	for i, n := range list {
		for j, r := range n.Routes {
			if r.Metric != 0 {
				v.report(at.Index(i).Key("routes").Index(j).Key("metric"), "%s has %s, whose cloud-init knows no metrics; remove it, and keep one route to each network", m.name, m.OS)
			}
		}
	}
}

// reportLayer reports a problem of a field at the layer that set it, once.
func (v *checker) reportLayer(said map[string]bool, m layered, name, format string, args ...any) {
	at := m.at
	switch layerOf(m, name) {
	case layerAll:
		at = v.spec.Key("machines")
	case layerControlPlane:
		at = v.spec.Key("controlPlane").Key("machines")
	case layerEtcd:
		at = v.spec.Key("controlPlane").Key("etcd").Key("machines")
	case layerWorkers:
		at = v.spec.Key("workers").Key("machines")
	}
	at = at.Key(name)
	if key := at.String() + format; !said[key] {
		said[key] = true
		v.report(at, format, args...)
	}
}

// rank orders the layers from wide to narrow; a machine's own is the narrowest.
func rank(layer string) int {
	switch layer {
	case "":
		return -1
	case layerDefault:
		return 0
	case layerAll:
		return 1
	case layerControlPlane, layerEtcd, layerWorkers:
		return 2
	}
	return 3
}

// layerOf returns the narrowest layer that sets a field or, in a map, one of its keys.
func layerOf(m layered, name string) string {
	layer := m.Source[name]
	for path, l := range m.Source {
		if strings.HasPrefix(path, name+".") && rank(l) > rank(layer) {
			layer = l
		}
	}
	return layer
}

// narrower returns the one of two fields that a narrower layer sets, the first one if the same does: it is where
// the two came to disagree.
func narrower(m layered, first, second string) string {
	if rank(layerOf(m, second)) > rank(layerOf(m, first)) {
		return second
	}
	return first
}

package config

import (
	"cmp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

// settings holds what all layers of one machine set, with the name and the place of the machine.
type settings struct {
	*Effective
	name string
	at   *yamltext.Location // the node or pool
}

// system returns the facts of the machine's operating system; none if it is unknown.
func (m *settings) system() target.System {
	s, _ := m.System()
	return s
}

func (m *settings) ignition() bool {
	s := m.system()
	return ignition(&s)
}

func ignition(s *target.System) bool { return s.Format == target.Ignition }

// reportLayer reports a problem of a field at the layer that set it. Many machines share a layer,
// so it reports a problem once, which it recognizes by the format.
func (v *checker) reportLayer(m settings, name, format string, args ...any) {
	v.reportOnce(v.layerAt(m, layerOf(m, name)).Key(name), format, args...)
}

// reportKey reports a problem with a value inside a field that is a map, at the narrowest layer
// that sets the value. keys lead to it, the name of the field first.
func (v *checker) reportKey(m settings, keys []string, format string, args ...any) {
	at := v.layerAt(m, m.Source[strings.Join(keys, ".")])
	for _, key := range keys {
		at = at.Key(key)
	}
	v.reportOnce(at, format, args...)
}

func (v *checker) layerAt(m settings, layer string) *yamltext.Location {
	switch layer {
	case layerAll:
		return v.spec.Key("machines")
	case layerControlPlane:
		return v.spec.Key("controlPlane").Key("machines")
	case layerEtcd:
		return v.spec.Key("controlPlane").Key("etcd").Key("machines")
	case layerWorkers:
		return v.spec.Key("workers").Key("machines")
	}
	return m.at
}

func (v *checker) reportOnce(at *yamltext.Location, format string, args ...any) {
	if id := at.String() + format; !v.reported[id] {
		v.reported[id] = true
		v.report(at, format, args...)
	}
}

// rank returns the place of a layer in the order from wide to narrow. The layer of a single machine
// is the narrowest.
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
func layerOf(m settings, name string) string {
	layer := m.Source[name]
	for path, l := range m.Source {
		if strings.HasPrefix(path, name+".") && rank(l) > rank(layer) {
			layer = l
		}
	}
	return layer
}

// narrower returns the one of two fields that a narrower layer sets, the first one if the same
// layer sets both. That layer made the two contradict each other.
func narrower(m settings, first, second string) string {
	if rank(layerOf(m, second)) > rank(layerOf(m, first)) {
		return second
	}
	return first
}

// System returns the facts of the system: its row, if there is one, with what the profile says.
func (m *Machine) System() (s target.System, ok bool) {
	s, ok = target.SystemNamed(m.OS)
	if !ok {
		return s, false
	}
	p := &m.Profile
	if p.ReadOnlyUsr {
		s.ReadOnlyUsr, s.Packages = true, nil
	}
	switch p.Network {
	case "networkd":
		s.Network = target.Networkd
	case "NetworkManager":
		s.Network = target.NetworkManager
	}
	s.ResolvConf = cmp.Or(p.ResolvConf, s.ResolvConf)
	if s.SELinux = cmp.Or(p.SELinux, s.SELinux); s.SELinux == "none" {
		s.SELinux = ""
	}
	if p.TimeService != "" {
		s.TimeServices = s.TimeServicesNamed(p.TimeService)
	}
	if len(p.CAFolders) > 0 {
		s.CADirs = slices.Clone(p.CAFolders)
	}
	if user := p.EtcdUser; user != nil {
		s.Etcd = target.Account{UID: user.UID, GID: user.GID, Image: true}
	}
	return s, true
}

// CNIBinDir returns the folder with the machine's CNI plugins.
func (m *Machine) CNIBinDir() string { return cmp.Or(m.Profile.CNIFolder, target.CNIBinDir) }

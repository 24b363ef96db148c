package config

import (
	"cmp"
	"slices"

	"kiln.dev/kiln/render/facts/target"
)

// System returns the facts of the machine's operating system: the row of its os, with what its
// profile says otherwise. ok reports whether the table has the system.
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

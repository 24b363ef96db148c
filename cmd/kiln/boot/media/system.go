package media

import (
	"cmp"

	"kiln.dev/kiln/render/facts/target"
)

// Systems returns the names of the systems that can boot over the network.
func Systems() []string {
	return target.SystemNames(func(s *target.System) bool { return s.NetBoot != nil })
}

// platformID returns the machine's platform as Ignition calls it.
func (m *Machine) platformID() string {
	p, _ := target.PlatformNamed(m.Platform)
	return cmp.Or(p.IgnitionID, m.Platform)
}

package plan

import "fmt"

// Origin is who decides about a value: a field of the configuration, a part of kiln, or a part of kiln by a field.
type Origin struct {
	Field string // of the configuration, as in messages; it may be absent there, and its default then counts
	By    string // the part of kiln; empty if the field alone decides
}

// The parts of kiln that no field of the configuration decides about.
var (
	Base = Origin{By: "base manifest of kiln"}
	Kiln = Origin{By: "kiln"}
)

// ByRelease is who decides what differs between the minors of Kubernetes.
func (p *Plan) ByRelease() Origin {
	return Origin{Field: "kubernetesVersion", By: fmt.Sprintf("release table of Kubernetes 1.%d", p.Release.Minor)}
}

// ByProfile is who decides what the security profile brings.
func (p *Plan) ByProfile() Origin {
	return Origin{Field: "security.profile", By: "security profile " + p.Config.Spec.Security.Profile}
}

// BySystem is who decides what differs between operating systems.
func (m *Machine) BySystem() Origin {
	return Origin{Field: m.Settings.Path("os"), By: "operating system " + m.System.Name}
}

// ByAddresses is who decides what follows from the machine's own addresses.
func (m *Machine) ByAddresses() Origin { return Origin{Field: m.Path + ".addresses"} }

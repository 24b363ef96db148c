package plan

import "fmt"

// Origin is the source of a value: a field of the configuration, a part of kiln, or a part of kiln
// that follows a field.
type Origin struct {
	// Field is the path of the field, as in messages. A field that is absent from the configuration
	// has its default.
	Field string
	By    string // the part of kiln; empty if the field alone decides
}

// The parts of kiln that follow no field of the configuration.
var (
	Base = Origin{By: "base manifest of kiln"}
	Kiln = Origin{By: "kiln"}
)

// ByRelease is the origin of what differs between the minors of Kubernetes.
func (p *Plan) ByRelease() Origin {
	by := fmt.Sprintf("release table of Kubernetes 1.%d", p.Release.Minor)
	return Origin{Field: "kubernetesVersion", By: by}
}

// ByProfile is the origin of what the security profile sets.
func (p *Plan) ByProfile() Origin {
	profile := p.Config.Spec.Security.Profile
	return Origin{Field: "security.profile", By: "security profile " + profile}
}

// BySystem is the origin of what differs between operating systems. own reports whether the
// machine's profile sets it.
func (m *Machine) BySystem(own bool) Origin {
	if own {
		return Origin{Field: m.Settings.Path("profile")}
	}
	return Origin{Field: m.Settings.Path("os"), By: "operating system " + m.System.Name}
}

// ByAddresses is the origin of what follows from the machine's own addresses.
func (m *Machine) ByAddresses() Origin { return Origin{Field: m.Path + ".addresses"} }

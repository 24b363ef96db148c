package plan

import "path"

// AdminFile is the operator's kubeconfig in the output folder. It is on no machine.
const AdminFile = "admin.conf"

// Kind is what the configuration calls the machine: "pool" for the machines of a pool, else "node".
func (m *Machine) Kind() string {
	if m.Pool {
		return "pool"
	}
	return "node"
}

// NodeName is the name of the machine's Node. It is empty for a pool: its machines learn theirs at
// boot.
func (m *Machine) NodeName() string {
	if m.Pool {
		return ""
	}
	return m.Name
}

// Folder is the machine's folder below the output folder and in the review twin.
func (m *Machine) Folder() string { return Folder(m.Name, m.Pool) }

// Folder is the folder of a named machine, or of a pool.
func Folder(name string, pool bool) string {
	if pool {
		return path.Join("pools", name)
	}
	return name
}

// AddressStrings returns the machine's addresses, those of the main family first.
func (m *Machine) AddressStrings() []string {
	out := make([]string, len(m.Addresses))
	for i, a := range m.Addresses {
		out[i] = a.String()
	}
	return out
}

package target

// Packages says how a system installs packages.
type Packages struct {
	// Manager is APT or DNF.
	Manager string
	// Runtime is the system's own package with containerd, which brings runc.
	Runtime string
}

// The programs that install packages.
const (
	APT = "apt-get"
	DNF = "dnf"
)

// Repository returns the URL of the packages of Kubernetes for a minor, such as 1.36. It ends with
// a slash. See https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/
// change-package-repository/.
func (p *Packages) Repository(minor string) string {
	form := map[string]string{APT: "deb", DNF: "rpm"}[p.Manager]
	return "https://pkgs.k8s.io/core:/stable:/v" + minor + "/" + form + "/"
}

// PackagedSystems returns the names of the operating systems whose packages kiln can install.
func PackagedSystems() []string {
	return SystemNames(func(s *System) bool { return s.Packages != nil })
}

// PackagesUnit installs the packages of a machine when the hook starts it.
const PackagesUnit = "kiln-packages.service"

package target

import "slices"

// Release is a minor release of Kubernetes 1: the tags of the images that kubeadm deploys with it,
// and its differences in flags. Every patch release of a minor, also one that came after kiln, uses
// the row of its minor.
type Release struct {
	Minor   int    // 36 for 1.36
	Etcd    string // the tag of the image, as are CoreDNS and Pause
	CoreDNS string
	Pause   string

	// FlexVolume reports whether the controller-manager still mounts the folder of flexvolume
	// plugins by default, below /usr. Immutable systems cannot create that folder (kubeadm#2031),
	// so a flag has to move it. Kubernetes 1.36 removed flexvolume.
	FlexVolume bool
}

// Releases is the table of the known minors, without a gap. The tags are constants of kubeadm
// 1.34.4, 1.35.4, 1.36.3 and 1.37.1 (cmd/kubeadm/app/constants/constants.go); etcd's of older
// minors are those that kubeadm 1.37 has for them, from which the way to etcd 3.7 is open.
var Releases = []Release{
	{Minor: 34, Etcd: "3.6.11-0", CoreDNS: "v1.12.1", Pause: "3.10.1", FlexVolume: true},
	{Minor: 35, Etcd: "3.6.11-0", CoreDNS: "v1.13.1", Pause: "3.10.1", FlexVolume: true},
	{Minor: 36, Etcd: "3.6.11-0", CoreDNS: "v1.14.2", Pause: "3.10.2"},
	{Minor: 37, Etcd: "3.7.0-0", CoreDNS: "v1.14.6", Pause: "3.10.2"},
}

// The first minors with a feature. A kubelet may be older than every row of the table, so what
// concerns kubelets cannot be a column of it.
const (
	// MutatingPolicies is the first minor that serves MutatingAdmissionPolicy in
	// admissionregistration.k8s.io/v1.
	MutatingPolicies = 36
	// ContainerBackOff is the first minor whose kubelet lets the longest pause between two starts
	// of a container be set (KEP-4603, beta).
	ContainerBackOff = 35
)

// KubeletSkew is how many minors a kubelet may be older than the API server (the version skew
// policy, https://kubernetes.io/releases/version-skew-policy/).
const KubeletSkew = 3

// ReleaseOf returns the row of a minor such as 36, and whether the table has it.
func ReleaseOf(minor int) (r Release, ok bool) {
	i := slices.IndexFunc(Releases, func(r Release) bool { return r.Minor == minor })
	if i < 0 {
		return Release{}, false
	}
	return Releases[i], true
}

// OldestMinor returns the oldest minor of the table.
func OldestMinor() int { return Releases[0].Minor }

// NewestMinor returns the newest minor of the table.
func NewestMinor() int { return Releases[len(Releases)-1].Minor }

package machine

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// User is the identity of a program in the kernel's permission checks.
type User struct {
	ID           int64
	Groups       []int64
	Unrestricted bool // modes are not checked for this user
}

// User returns the identity that p runs with. The container's settings win over the pod's. Without
// any, kiln's own components run as root, and the user of other programs is unknown, because their
// images may set it. Root is subject to the modes if it lost the capability to override them.
func (p *Program) User() User {
	pod, container := p.Pod.Spec.SecurityContext, p.SecurityContext
	if pod == nil {
		pod = &corev1.PodSecurityContext{}
	}
	if container == nil {
		container = &corev1.SecurityContext{}
	}
	u := User{
		ID:     firstSet(container.RunAsUser, pod.RunAsUser),
		Groups: []int64{firstSet(container.RunAsGroup, pod.RunAsGroup), firstSet(pod.FSGroup)},
	}
	u.Groups = append(u.Groups, pod.SupplementalGroups...)

	var drop, add []corev1.Capability
	if container.Capabilities != nil {
		drop, add = container.Capabilities.Drop, container.Capabilities.Add
	}
	unknown := !p.IsComponent() && container.RunAsUser == nil && pod.RunAsUser == nil
	privileged := container.Privileged != nil && *container.Privileged
	overrides := u.ID == 0 && (overridesModes(add) || !overridesModes(drop))
	u.Unrestricted = unknown || privileged || overrides
	return u
}

// overridesModes reports whether a list has the capability to override file modes.
func overridesModes(capabilities []corev1.Capability) bool {
	return slices.Contains(capabilities, "ALL") || slices.Contains(capabilities, "DAC_OVERRIDE")
}

// firstSet returns the first number that is set, or 0, which is root.
func firstSet(numbers ...*int64) int64 {
	for _, n := range numbers {
		if n != nil {
			return *n
		}
	}
	return 0
}

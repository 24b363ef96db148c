package check

import (
	"path"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"kiln/render/node"
)

// Permission bits.
const (
	mayEnter = 0o1
	mayWrite = 0o2
	mayRead  = 0o4
)

// requireAccess adds an error unless the kernel lets a user enter every directory from the
// beginning of a volume down to a path, and read or write what is there. Directories above the
// volume do not count, because the container has its own. A path that is to be written need not
// exist; then its parent must be writable.
func (c *inspection) requireAccess(source string, u user, at location, bit uint32) {
	var parents []node.Dir // the nearest first
	for dir := at.path; dir != at.root && dir != "/"; {
		dir = path.Dir(dir)
		if d, known := c.dirs[dir]; known {
			parents = append(parents, d)
		}
	}
	for _, d := range parents {
		if !c.isAllowed(u, d, mayEnter) {
			c.fail("%s: the pod's user %d cannot enter %s (mode %04o, owner %s); "+
				"give it to that user", source, u.id, d.Path, d.Mode, node.Owner(d.User))
			return
		}
	}
	target, known := c.dirs[at.path]
	if f := c.file(at.path); f != nil {
		target = node.Dir{Path: f.Path, Mode: f.Mode, User: f.User, Group: f.Group}
		known = true
	} else if !known && bit == mayWrite && len(parents) > 0 {
		target, known = parents[0], true
	}
	if known && !c.isAllowed(u, target, bit) {
		verb := map[uint32]string{mayWrite: "write", mayRead: "read"}[bit]
		c.fail("%s: the pod's user %d cannot %s %s (mode %04o, owner %s); give it to that user",
			source, u.id, verb, target.Path, target.Mode, node.Owner(target.User))
	}
}

// isAllowed reports whether the kernel grants a user a permission bit on something with the owner,
// group and mode of d. It reports true if only the machine knows the number of the owner or group.
func (c *inspection) isAllowed(u user, d node.Dir, bit uint32) bool {
	owner, group := c.ownerID(d.User), c.ownerID(d.Group)
	switch {
	case u.unrestricted || owner < 0 || group < 0:
		return true
	case owner == u.id:
		return d.Mode>>6&bit != 0
	case slices.Contains(u.groups, group):
		return d.Mode>>3&bit != 0
	default:
		return d.Mode&bit != 0
	}
}

// ownerID returns the number of a user, or of a group: a user and its group have the same name and
// number. It returns -1 if only the machine knows the number.
func (c *inspection) ownerID(name string) int64 {
	name = node.Owner(name)
	if name == node.Root {
		return 0
	}
	for _, u := range c.node.Users {
		if u.Name == name {
			return int64(u.ID)
		}
	}
	if n, err := strconv.ParseInt(name, 10, 64); err == nil {
		return n
	}
	return -1
}

// user is the identity of a program in the kernel's permission checks.
type user struct {
	id           int64
	groups       []int64
	unrestricted bool // modes are not checked for this user
}

// user returns the identity that p runs with. The container's settings win over the pod's. Without
// any, kiln's own components run as root, and the user of other programs is unknown, because their
// images may set it. Root is subject to the modes if it lost the capability to override them.
func (p *program) user() user {
	pod, container := p.pod.Spec.SecurityContext, p.SecurityContext
	if pod == nil {
		pod = &corev1.PodSecurityContext{}
	}
	if container == nil {
		container = &corev1.SecurityContext{}
	}
	u := user{
		id:     firstSet(container.RunAsUser, pod.RunAsUser),
		groups: []int64{firstSet(container.RunAsGroup, pod.RunAsGroup), firstSet(pod.FSGroup)},
	}
	u.groups = append(u.groups, pod.SupplementalGroups...)

	var drop, add []corev1.Capability
	if container.Capabilities != nil {
		drop, add = container.Capabilities.Drop, container.Capabilities.Add
	}
	unknown := !p.isComponent() && container.RunAsUser == nil && pod.RunAsUser == nil
	privileged := container.Privileged != nil && *container.Privileged
	overrides := u.id == 0 && (overridesModes(add) || !overridesModes(drop))
	u.unrestricted = unknown || privileged || overrides
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

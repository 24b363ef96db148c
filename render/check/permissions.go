package check

import (
	"path"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"kiln/render/node"
)

// requireAccess: the kernel lets a user into every directory from where the volume begins down to a path, and read or write
// that. The directories above the volume are the container's own. What is to be written may not be there yet.
func (c *inspection) requireAccess(by string, u user, at location, bit uint32) {
	var way []node.Dir
	for dir := at.path; dir != at.root && dir != "/"; {
		dir = path.Dir(dir)
		if d, known := c.dirs[dir]; known {
			way = append(way, d)
		}
	}
	for _, d := range way {
		if !c.isAllowed(u, d, mayEnter) {
			c.fail("%s: the pod's user %d cannot enter %s (mode %04o, owner %s); give it to that user", by, u.id, d.Path, d.Mode, node.Owner(d.User))
			return
		}
	}
	end, known := c.dirs[at.path]
	if f := c.file(at.path); f != nil {
		end, known = node.Dir{Path: f.Path, Mode: f.Mode, User: f.User, Group: f.Group}, true
	} else if !known && bit == mayWrite && len(way) > 0 {
		end, known = way[0], true
	}
	if known && !c.isAllowed(u, end, bit) {
		c.fail("%s: the pod's user %d cannot %s %s (mode %04o, owner %s); give it to that user", by, u.id, map[uint32]string{mayWrite: "write", mayRead: "read"}[bit], end.Path, end.Mode, node.Owner(end.User))
	}
}

// isAllowed says whether the kernel grants a permission bit on something of that owner, group and mode. An owner whose
// number only the machine knows is not judged.
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

// ownerID returns the number of a user or group, which have the same; -1 if only the machine knows it.
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

// user is whom a program runs as, for the kernel's permission checks.
type user struct {
	id           int64
	groups       []int64
	unrestricted bool // may do everything, whatever the modes say
}

// user returns whom p runs as: the container's settings win over the pod's, and without any it is root for our own
// images and not known for the user's. Root without its capabilities is held to the modes like everybody else.
func (p *program) user() user {
	pod, own := p.pod.Spec.SecurityContext, p.SecurityContext
	if pod == nil {
		pod = &corev1.PodSecurityContext{}
	}
	if own == nil {
		own = &corev1.SecurityContext{}
	}
	var drop, add []corev1.Capability
	if own.Capabilities != nil {
		drop, add = own.Capabilities.Drop, own.Capabilities.Add
	}
	u := user{
		id:     firstSet(own.RunAsUser, pod.RunAsUser),
		groups: append([]int64{firstSet(own.RunAsGroup, pod.RunAsGroup), firstSet(pod.FSGroup)}, pod.SupplementalGroups...),
	}
	unknown := !p.isComponent() && own.RunAsUser == nil && pod.RunAsUser == nil
	privileged := own.Privileged != nil && *own.Privileged
	u.unrestricted = unknown || privileged || u.id == 0 && (overridesModes(add) || !overridesModes(drop))
	return u
}

// overridesModes says whether the capability to pass over modes is in a list.
func overridesModes(list []corev1.Capability) bool {
	return slices.Contains(list, "ALL") || slices.Contains(list, "DAC_OVERRIDE")
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

// Permission bits.
const (
	mayEnter = 0o1
	mayWrite = 0o2
	mayRead  = 0o4
)

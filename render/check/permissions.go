package check

import (
	"path"
	"slices"
	"strconv"

	"kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/facts/node"
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
func (c *inspection) requireAccess(source string, u machine.User, at machine.Location, bit uint32) {
	var parents []node.Dir // the nearest first
	for dir := at.Path; dir != at.Root && dir != "/"; {
		dir = path.Dir(dir)
		if d, known := c.tree.Dir(dir); known {
			parents = append(parents, d)
		}
	}
	for _, d := range parents {
		if !c.isAllowed(u, d, mayEnter) {
			c.fail("%s: the pod's user %d cannot enter %s (mode %04o, owner %s); "+
				"give it to that user", source, u.ID, d.Path, d.Mode, node.Owner(d.User))
			return
		}
	}
	target, known := c.tree.Dir(at.Path)
	if f := c.tree.File(at.Path); f != nil {
		target = node.Dir{Path: f.Path, Mode: f.Mode, User: f.User, Group: f.Group}
		known = true
	} else if !known && bit == mayWrite && len(parents) > 0 {
		target, known = parents[0], true
	}
	if known && !c.isAllowed(u, target, bit) {
		verb := map[uint32]string{mayWrite: "write", mayRead: "read"}[bit]
		c.fail("%s: the pod's user %d cannot %s %s (mode %04o, owner %s); give it to that user",
			source, u.ID, verb, target.Path, target.Mode, node.Owner(target.User))
	}
}

// isAllowed reports whether the kernel grants a user a permission bit on something with the owner,
// group and mode of d. It reports true if only the machine knows the number of the owner or group.
func (c *inspection) isAllowed(u machine.User, d node.Dir, bit uint32) bool {
	owner, group := c.ownerID(d.User), c.ownerID(d.Group)
	switch {
	case u.Unrestricted || owner < 0 || group < 0:
		return true
	case owner == u.ID:
		return d.Mode>>6&bit != 0
	case slices.Contains(u.Groups, group):
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

package machine

import "strconv"

// Account is a user, and a group of the same name, with their numbers.
type Account struct {
	Name     string
	uid, gid int
}

// images are the accounts that come with a system, of which no document says anything:
// flatcar/baselayout (baselayout/passwd and group), coreos/fedora-coreos-config (manifests/passwd
// and group).
var images = map[string][]Account{
	"flatcar":       {{"etcd", 232, 232}},
	"fedora-coreos": {{"etcd", 998, 997}},
}

// Accounts are root, those of the image and those that the document makes.
func (m *Machine) Accounts() []Account {
	all := append([]Account{{"root", 0, 0}}, images[m.OS]...)
	for _, u := range m.Users {
		all = append(all, Account{u.Name, u.ID, u.ID})
	}
	return all
}

// UserName returns the name of a user who is given by name or number; the number if nobody has it.
func (m *Machine) UserName(user string) string {
	for _, a := range m.Accounts() {
		if user == strconv.Itoa(a.uid) {
			return a.Name
		}
	}
	return user
}

// GroupName is UserName for groups.
func (m *Machine) GroupName(group string) string {
	for _, a := range m.Accounts() {
		if group == strconv.Itoa(a.gid) {
			return a.Name
		}
	}
	return group
}

// Owners returns the user and group of a file by name, as stat prints them on the machine.
func (m *Machine) Owners(f *File) (user, group string) {
	return m.UserName(f.User), m.GroupName(f.Group)
}

// UID returns the number of a user who is given by name or number; root's if there is no such user.
func (m *Machine) UID(user string) int {
	for _, a := range m.Accounts() {
		if user == a.Name || user == strconv.Itoa(a.uid) {
			return a.uid
		}
	}
	return 0
}

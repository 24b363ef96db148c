package judges

import "strconv"

// account is a user, and a group of the same name, with their numbers.
type account struct {
	name     string
	uid, gid int
}

// images are the accounts that come with a system, of which no document says anything:
// flatcar/baselayout (baselayout/passwd and group), coreos/fedora-coreos-config (manifests/passwd
// and group).
var images = map[string][]account{
	"flatcar":       {{"etcd", 232, 232}},
	"fedora-coreos": {{"etcd", 998, 997}},
}

// accounts are root, those of the image and those that the document makes.
func (m *Machine) accounts() []account {
	all := append([]account{{"root", 0, 0}}, images[m.OS]...)
	for _, u := range m.Users {
		all = append(all, account{u.Name, u.ID, u.ID})
	}
	return all
}

// userName returns the name of a user who is given by name or number; the number if nobody has it.
func (m *Machine) userName(user string) string {
	for _, a := range m.accounts() {
		if user == strconv.Itoa(a.uid) {
			return a.name
		}
	}
	return user
}

// groupName is userName for groups.
func (m *Machine) groupName(group string) string {
	for _, a := range m.accounts() {
		if group == strconv.Itoa(a.gid) {
			return a.name
		}
	}
	return group
}

// owners returns the user and group of a file by name, as stat prints them on the machine.
func (m *Machine) owners(f *File) (user, group string) {
	return m.userName(f.User), m.groupName(f.Group)
}

// uid returns the number of a user who is given by name or number; root's if there is no such user.
func (m *Machine) uid(user string) int {
	for _, a := range m.accounts() {
		if user == a.name || user == strconv.Itoa(a.uid) {
			return a.uid
		}
	}
	return 0
}

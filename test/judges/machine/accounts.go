package machine

import (
	"fmt"
	"strconv"
	"strings"
)

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

// Accounts are root, those of the image and those that the document makes. What a profile says of
// an image is a check of the first boot, which stops on every other image.
func (m *Machine) Accounts() []Account {
	all := append([]Account{{"root", 0, 0}}, images[m.OS]...)
	for _, u := range m.Users {
		all = append(all, Account{u.Name, u.ID, u.ID})
	}
	if f := m.File("/etc/kiln/checks"); f != nil && images[m.OS] == nil {
		for line := range strings.Lines(string(f.Content)) {
			var a Account
			_, check, _ := strings.Cut(line, "|stop|user ")
			if n, _ := fmt.Sscanf(check, "%s %d %d|", &a.Name, &a.uid, &a.gid); n == 3 {
				all = append(all, a)
			}
		}
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

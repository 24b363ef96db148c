package render

import (
	"bytes"
	"fmt"
	"strings"

	"kiln/render/cloudinit"
	"kiln/render/ignition"
	"kiln/render/node"
)

// Unpack reads a boot document, Ignition or cloud-init, packed or plain, and returns what it puts on its machine.
func Unpack(path string) (*node.Node, error) {
	data, err := regular(path)
	if err != nil {
		return nil, err
	}
	unpack := cloudinit.Unpack
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		unpack = ignition.Unpack
	}
	n, err := unpack(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &n, nil
}

// Index lists a machine: one line for each user, directory, file, link and unit, sorted, with mode and owner.
func Index(n *node.Node) []byte {
	var b bytes.Buffer
	for _, u := range n.Users {
		fmt.Fprintf(&b, "user %s %d %s\n", u.Name, u.ID, u.Home)
	}
	for _, d := range n.Dirs {
		fmt.Fprintf(&b, "dir  %04o %s:%s %s\n", d.Mode, node.Owner(d.User), node.Owner(d.Group), d.Path)
	}
	for _, f := range n.Files {
		fmt.Fprintf(&b, "file %04o %s:%s %s\n", f.Mode, node.Owner(f.User), node.Owner(f.Group), f.Path)
	}
	for _, l := range n.Links {
		fmt.Fprintf(&b, "link %s -> %s\n", l.Path, l.Target)
	}
	for _, u := range n.Units {
		var state []string
		if u.Enabled {
			state = append(state, "enabled")
		}
		if u.Masked {
			state = append(state, "masked")
		}
		fmt.Fprintf(&b, "unit %s %s\n", u.Name, strings.Join(state, " "))
	}
	for _, key := range n.AuthorizedKeys {
		fmt.Fprintf(&b, "key  %s\n", key)
	}
	if len(n.Extra) > 0 {
		fmt.Fprintf(&b, "ignition %s\n", n.Extra)
	}
	return b.Bytes()
}

// Package interfaces writes the network interfaces of a machine in the language of the program that
// configures them: networkd, NetworkManager, or cloud-init's network configuration (netplan). It
// takes finished interfaces from plan and decides nothing about addresses or names.
package interfaces

import (
	"fmt"

	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/target"
)

// Files returns the files that configure an interface, in the language of the program on the machine
// that reads them. It fails for a program that kiln has no files for.
func Files(program string, n *plan.Interface) ([]node.File, error) {
	write, ok := writers[program]
	if !ok {
		return nil, fmt.Errorf("interfaces: kiln writes no files for %s", program)
	}
	return append(linkFile(n), write(n)...), nil
}

// writers are the programs that configure interfaces from files.
var writers = map[string]func(*plan.Interface) []node.File{
	target.Networkd:       networkdFiles,
	target.NetworkManager: keyfiles,
}

// linkFile is what gives an interface its name: udev's, whatever program configures the interface. The permanent address is asked for, since
// a bond gives all its members one, and VLANs have that of what they are on (systemd.link(5)).
func linkFile(n *plan.Interface) []node.File {
	if n.MAC == "" {
		return nil
	}
	var b ini
	b.section("Match")
	b.set("PermanentMACAddress", n.MAC)
	b.section("Link")
	b.set("Name", n.Name)
	return []node.File{b.file(networkdPath(n, "link"), 0o644, "name of the interface with this address")}
}

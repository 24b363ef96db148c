// This file turns a machine's network interfaces into the configuration of the program
// that sets them up: files for systemd-networkd or NetworkManager, or cloud-init's network
// configuration, which netplan or cloud-init itself reads. It takes finished interfaces from
// package plan, and decides nothing about addresses, names or the choice of the program.

package assembly

import (
	"fmt"
	"strings"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// InterfaceFiles returns the files that configure an interface for a program, target.Networkd or
// target.NetworkManager. It fails for any other program.
func InterfaceFiles(program string, n *plan.Interface) ([]node.File, error) {
	programFiles, ok := filesByProgram[program]
	if !ok {
		return nil, fmt.Errorf("interfaces: kiln writes no files for %s", program)
	}
	return append(linkFile(n), programFiles(n)...), nil
}

// filesByProgram holds a function for each program that configures interfaces from files.
var filesByProgram = map[string]func(*plan.Interface) []node.File{
	target.Networkd:       networkdFiles,
	target.NetworkManager: keyfiles,
}

// linkFile returns the file by which udev names an interface, whatever program configures it, or
// none if the interface is not known by its MAC address. The file matches the permanent address:
// the members of a bond share its current address, and a VLAN has that of the interface below it
// (systemd.link(5)).
func linkFile(n *plan.Interface) []node.File {
	if n.MAC == "" {
		return nil
	}
	var b ini
	b.section("Match")
	b.set("PermanentMACAddress", n.MAC)
	b.section("Link")
	b.set("Name", n.Name)
	path := networkdPath(n, "link")
	return []node.File{b.file(path, 0o644, "name of the interface with this address")}
}

// Unmanaged returns the files that keep a program off the interfaces with these names, which may
// have a star at their end: it would ask for addresses of pods by DHCP, or take their interfaces
// down. networkd also leaves foreign routes and rules alone; by default it removes them whenever it
// configures an interface again (networkd.conf(5)).
func Unmanaged(program string, names []string) []node.File {
	const why = "keeps the network manager off pods"
	var b, match ini
	switch program {
	case target.Networkd:
		b.section("Network")
		b.set("ManageForeignRoutes", "no")
		b.set("ManageForeignRoutingPolicyRules", "no")
		match.section("Match")
		match.set("Name", strings.Join(names, " "))
		match.section("Link")
		match.set("Unmanaged", "yes")
		return []node.File{
			b.file("/etc/systemd/networkd.conf.d/90-kiln.conf", 0o644, why),
			match.file(networkdDir+podsNetwork, 0o644, why),
		}
	case target.NetworkManager:
		b.section("device-kiln")
		b.set("match-device", "interface-name:"+strings.Join(names, ";interface-name:"))
		b.set("managed", "0")
		return []node.File{b.file("/etc/NetworkManager/conf.d/90-kiln.conf", 0o644, why)}
	}
	return nil
}

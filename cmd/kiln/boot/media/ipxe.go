package media

import (
	"fmt"
	"strings"
)

// nics is how many network cards of a machine the script looks at, beside the one that the machine
// boots from.
const nics = 4

// start returns the script that iPXE begins with. It looks for the machine's own script by the MAC
// of the card that the machine boots from, then by the MACs of the others. On an
// unknown machine it prints the MAC, waits, and goes back to the firmware, which boots what comes
// next.
func (n *Netboot) start() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "#!ipxe\n# kiln: cluster %s. Each machine goes on with its own script, "+
		"by the MAC of one of its cards.\n", n.Cluster)
	card := func(mac string) {
		fmt.Fprintf(&b, "chain --replace %s/ipxe/mac-${%s:hexhyp}.ipxe ||\n", n.URL, mac)
	}
	card("mac")
	for i := range nics {
		fmt.Fprintf(&b, "isset ${net%d/mac} && ", i)
		card(fmt.Sprintf("net%d/mac", i))
	}
	fmt.Fprintf(&b, "echo kiln: no machine of cluster %s has the MAC ${mac}: "+
		"add it to its node in cluster.yaml, render, and run kiln netboot again\n", n.Cluster)
	b.WriteString("sleep 30\nexit 1\n")
	return []byte(b.String())
}

// script returns a machine's own script.
func (n *Netboot) script(m *Machine, b *Boot) []byte {
	var s strings.Builder
	fmt.Fprintf(&s, "#!ipxe\n# kiln: %s %s of cluster %s, %s\n", m.Kind(), m.Name, n.Cluster, m.OS)
	fmt.Fprintf(&s, "kernel %s %s\n", b.Kernel, strings.Join(b.Args, " "))
	for i, initrd := range b.Initrds {
		fmt.Fprintf(&s, "initrd --name %s %s\n", initrdName(i), initrd)
	}
	s.WriteString("boot\n")
	return []byte(s.String())
}

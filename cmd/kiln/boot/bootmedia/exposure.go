package bootmedia

import (
	"fmt"
	"strings"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
)

// Exposure returns a warning for each thing that others on the network can read or do when machines
// boot from the folder. It returns none if all addresses are https.
func (n *Netboot) Exposure(entries []render.Entry) (warnings []string) {
	for _, address := range []string{n.URL, n.Matchbox} {
		if !strings.HasPrefix(strings.ToLower(address), "http://") {
			continue
		}
		names := WithSecrets(entries)
		if len(names) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s: the documents of %s hold secrets and "+
				"cross the network in the clear: anyone who listens there can read them; use an "+
				"https address, or delivery mode split or pointer", address, term.Names(names)))
		}
		warnings = append(warnings, fmt.Sprintf("%s: no machine can tell who sent its document: "+
			"anyone who answers in the server's place becomes root on the machine; use an https "+
			"address, or give these machines a network of their own", address))
	}
	return warnings
}

// WithSecrets lists the machines and pools whose documents hold secrets. In the delivery modes
// split and pointer the secrets are in the bodies, which are delivered another way.
func WithSecrets(entries []render.Entry) (names []string) {
	for i := range entries {
		if mode := entries[i].Delivery; mode == "" || mode == "lean" {
			names = append(names, entries[i].Node)
		}
	}
	return names
}

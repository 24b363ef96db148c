package bootmedia

import (
	"fmt"
	"strings"

	"kiln/render"
)

// Exposure returns a line for each thing that others on the network can read or do when machines boot
// from the addresses of the folder. It returns none if all addresses are https.
func (n *Netboot) Exposure(entries []render.Entry) (lines []string) {
	for _, address := range []string{n.URL, n.Matchbox} {
		if !strings.HasPrefix(strings.ToLower(address), "http://") {
			continue
		}
		names := WithSecrets(entries)
		const most = 5
		if more := len(names) - most; more > 0 {
			names = append(names[:most], fmt.Sprintf("%d more", more))
		}
		if len(names) > 0 {
			lines = append(lines, fmt.Sprintf("%s: the documents of %s hold secrets and cross the network in "+
				"the clear: whoever listens there has them; use an https address, or delivery mode split or "+
				"pointer", address, strings.Join(names, ", ")))
		}
		lines = append(lines, fmt.Sprintf("%s: no machine can tell who sent its document: whoever answers in "+
			"the server's place is root on the machine; use an https address, or a network of these machines "+
			"alone", address))
	}
	return lines
}

// WithSecrets lists the machines and pools whose documents hold secrets. With the delivery modes split
// and pointer the secrets are in the bodies, which come another way.
func WithSecrets(entries []render.Entry) (names []string) {
	for i := range entries {
		if mode := entries[i].Delivery; mode == "" || mode == "lean" {
			names = append(names, entries[i].Node)
		}
	}
	return names
}

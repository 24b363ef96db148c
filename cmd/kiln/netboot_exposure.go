package main

import (
	"fmt"
	"strings"

	"kiln/render"
)

// exposure tells what others on the network read, and what they can do, when machines boot from
// these addresses: a line for each thing to know, none if they are all https.
func (f *netbootFlags) exposure(entries []render.Entry) (lines []string) {
	for _, address := range []string{f.url, f.matchbox} {
		if !strings.HasPrefix(strings.ToLower(address), "http://") {
			continue
		}
		names := secretive(entries)
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

// secretive lists the machines and pools whose documents hold secrets. Those of split and pointer are
// in the bodies, which come another way.
func secretive(entries []render.Entry) (names []string) {
	for i := range entries {
		if mode := entries[i].Delivery; mode == "" || mode == "lean" {
			names = append(names, entries[i].Node)
		}
	}
	return names
}

package certs

import (
	"slices"
	"strings"

	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/plan"
)

// Elsewhere sets the renewal of what CAs have signed whose keys are not in the bundle, of these
// CAs, and of those above them. cas are their roots, separated by commas, as a fact about the
// cluster has them.
func Elsewhere(list []Entry, cas string) []Entry {
	if cas == "" {
		return list
	}
	roots := strings.Split(cas, ",")
	subjects, above := map[string]bool{}, map[string]bool{}
	for i := range list {
		e, root := &list[i], ""
		if row := layout.FileAt(e.Path); row != nil {
			root = row.Authority
		}
		if e.Machine == "" && e.Path == plan.AdminFile {
			root = "ca"
		}
		if e.CA && e.Renewal == NewCA && slices.Contains(roots, root) {
			e.Renewal = ExternalCA
			subjects[e.Subject], above[e.Issuer] = true, true
		}
	}
	for range list { // each pass finds at least the next CA of a chain
		found := false
		for i := range list {
			if e := &list[i]; e.CA && e.Renewal == NewCA && above[e.Subject] {
				e.Renewal, above[e.Issuer], found = ExternalCA, true, true
			}
		}
		if !found {
			break
		}
	}
	for i := range list {
		if e := &list[i]; (e.Renewal == Renew || e.Renewal == Render) && subjects[e.Issuer] {
			e.Renewal = Request
		}
	}
	return list
}

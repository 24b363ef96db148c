package assembly

import (
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
)

// podsNetwork is the file by which systemd-networkd leaves the interfaces of pods alone. Of all
// files that match an interface, only the first by name counts.
const networkdDir, podsNetwork = "/etc/systemd/network/", "05-kiln-pods.network"

// checkNetworkd reports a file of the user's that stands before podsNetwork and matches an
// interface of pods: networkd would give it addresses and routes of the machine.
func (t *tree) checkNetworkd() error {
	if t.n.File(networkdDir+podsNetwork) == nil {
		return nil
	}
	var problems config.Problems
	for i := range t.n.Files {
		f := &t.n.Files[i]
		base := path.Base(f.Path)
		if f.Why != node.FromConfig || path.Ext(base) != ".network" || base >= podsNetwork ||
			path.Base(path.Dir(f.Path)) != "network" {
			continue
		}
		for _, glob := range t.Plan.Config.PodInterfaces() {
			// A name that the glob matches, as a pod's interface could have.
			if name := strings.ReplaceAll(glob, "*", "1f2e3d4c"); matchesVirtual(f.Content, name) {
				problems = append(problems, t.Plan.Config.Problemf(f.From[0], "%s stands before "+
					"%s and matches interfaces of pods (%s), which networkd would then configure; "+
					"name the file 10-… or the interfaces that it is "+
					"for", f.Path, podsNetwork, glob))
				break
			}
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// matchesVirtual reports whether the section Match of a file of networkd matches a virtual
// interface of Ethernet with that name (systemd.network(5), man page of 257). A file without
// conditions matches none.
func matchesVirtual(text []byte, name string) bool {
	conditions := map[string][]string{}
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "["):
			section = line
		case ok && section == "[Match]":
			key = strings.TrimSpace(key)
			conditions[key] = append(conditions[key], strings.Fields(value)...)
		}
	}
	if len(conditions) == 0 {
		return false
	}
	for key, list := range conditions {
		switch key {
		case "Name":
			if !matchesGlobs(list, name) {
				return false
			}
		case "Type":
			if !matchesGlobs(list, "ether") {
				return false
			}
		case "Kind", "Driver":
			if !matchesGlobs(list, "veth") {
				return false
			}
		case "MACAddress", "PermanentMACAddress", "Path", "SSID", "BSSID", "WLANInterfaceType":
			return false // of one interface of the hardware
		}
	}
	return true
}

// matchesGlobs reports whether a list of globs matches a word. ! in front of the first turns it
// round.
func matchesGlobs(list []string, word string) bool {
	if len(list) == 0 {
		return true
	}
	first, inverted := strings.CutPrefix(list[0], "!")
	list = append([]string{first}, list[1:]...)
	return inverted != slices.ContainsFunc(list, func(glob string) bool {
		ok, _ := path.Match(glob, word)
		return ok
	})
}

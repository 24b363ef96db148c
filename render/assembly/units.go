package assembly

import (
	"strings"

	"kiln/render/node"
	"kiln/render/plan"
	"kiln/templates"
)

// addUnit adds one of our own units, with its text.
func (t *tree) addUnit(name string, enabled, started bool) {
	mode := uint32(0o644)
	if name == "kubelet.service" {
		mode = 0o600 // CIS 4.1.1
	}
	t.addUnitWith(name, mode, templates.Unit(name), enabled, started)
}

// addUnitWith adds a unit that was written for this machine.
func (t *tree) addUnitWith(name string, mode uint32, text string, enabled, started bool, from ...string) {
	t.addFile(plan.UnitDir+"/"+name, mode, text, "systemd unit", from...)
	t.n.Units = append(t.n.Units, node.Unit{Name: name, Enabled: enabled, Started: started})
	if enabled {
		// An image that was booted before has a machine-id, and systemd then reads no presets: the link always counts.
		t.n.Links = append(t.n.Links, node.Link{Path: plan.UnitDir + "/" + wantedBy(name) + ".wants/" + name, Target: "../" + name})
	}
}

// wantedBy is the target that starts an enabled unit of ours.
func wantedBy(name string) string {
	if strings.HasSuffix(name, ".timer") {
		return "timers.target"
	}
	return "multi-user.target"
}

package assembly

import (
	"strings"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/templates"
)

// addUnit adds the unit of that name from package templates.
func (t *tree) addUnit(name string, enabled, started bool) {
	mode := uint32(0o644)
	if name == "kubelet.service" {
		mode = 0o600 // CIS 4.1.1
	}
	text := t.units.Of([]byte(name), func() string { return templates.Unit(name) })
	t.addUnitWith(name, mode, text, enabled, started)
}

// addUnitWith adds a unit whose content was made for this machine. from lists the fields of the
// configuration that the content is made from.
func (t *tree) addUnitWith(
	name string, mode uint32, content string, enabled, started bool, from ...string,
) {
	t.addFile(plan.UnitDir+"/"+name, mode, content, "systemd unit", from...)
	t.n.Units = append(t.n.Units, node.Unit{Name: name, Enabled: enabled, Started: started})
	if enabled {
		// A preset would not do: systemd reads presets only without a machine-id, and an image that
		// was booted before has one.
		by := "multi-user.target"
		if strings.HasSuffix(name, ".timer") {
			by = "timers.target"
		}
		t.n.Links = append(t.n.Links, node.Link{
			Path: plan.UnitDir + "/" + by + ".wants/" + name, Target: "../" + name,
		})
	}
}

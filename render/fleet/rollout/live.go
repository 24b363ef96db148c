package rollout

import (
	"fmt"
	"strings"

	"kiln.dev/kiln/render/twin/change"
)

// Applicable returns what kiln apply does when it gives the machine its newer document while it
// runs: paths of files with what starts anew with them, and paths with the commands that follow
// their change. It fails, with the reason, if that needs a replacement, or if the whole change is
// refused and force does not name the refusal. The pair p is one of d, and in both states.
//
// Afterwards such a machine is as its newer document says, like one that was replaced: so nothing
// may differ that kiln apply does not write.
func Applicable(
	d *change.Diff, p *change.Pair, force []string,
) (restarts, commands []string, err error) {
	t := newTransition(d)
	f := decide(t, p)
	switch {
	case f.verdict == Replace:
		return nil, nil, fmt.Errorf("%s needs a replacement: %s", p.Machine().Name,
			strings.Join(f.why, "; "))
	case f.unwritten != "":
		return nil, nil, fmt.Errorf("%s needs a replacement for the rest: kiln apply does not "+
			"write %s", p.Machine().Name, f.unwritten)
	}
	var plan Steps
	if err := plan.refuse(refusals(t, t.decisions()), force, true); err != nil {
		return nil, nil, err
	}
	for _, r := range plan.Refused {
		if r.Name != "single-member" { // that one is of machines that are replaced
			return nil, nil, fmt.Errorf("kiln plan refuses this change (%s): %s; instead: %s",
				r.Name, r.Why, r.Instead)
		}
	}
	return f.restarts, f.commands, nil
}

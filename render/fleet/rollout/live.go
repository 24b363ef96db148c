package rollout

import (
	"fmt"
	"strings"

	"kiln.dev/kiln/render/twin/change"
)

// Applicable returns nil if kiln apply can give the machine its newer document while it runs, and
// else an error with the reason. The pair p is one of d, and in both states.
//
// Afterwards such a machine is as its newer document says, like one that was replaced: so nothing
// may differ that kiln apply does not write.
func Applicable(d *change.Diff, p *change.Pair) error {
	f := decide(newTransition(d), p)
	switch {
	case f.verdict == Replace:
		return fmt.Errorf("%s needs a replacement: %s", p.Machine().Name,
			strings.Join(f.why, "; "))
	case f.unwritten != "":
		return fmt.Errorf("%s needs a replacement for the rest: kiln apply does not write %s",
			p.Machine().Name, f.unwritten)
	}
	return nil
}

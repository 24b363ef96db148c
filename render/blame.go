package render

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
)

// ofPatch matches the field of a patch.
var ofPatch = regexp.MustCompile(`(^|\.)patches\[[0-9]+\]$`)

// blame returns the errors of a machine's check as problems of the patches that broke its static
// pods: without patches a static pod breaks no rule. A patch is blamed for the first error that
// names its pod, because the others follow from it most often. The errors come back as they are if
// a problem is among them already, or if no patch changes a pod that they name.
func (r *Cluster) blame(m *plan.Machine, n *node.Node, err error) error {
	if err == nil || len(problemsIn(err)) > 0 || !r.HasPatches(m) {
		return err
	}
	var problems config.Problems
	for i := range n.Files {
		f := &n.Files[i]
		if path.Dir(f.Path) != plan.ManifestsDir {
			continue
		}
		pod := "static pod " + strings.TrimSuffix(path.Base(f.Path), path.Ext(f.Path)) + ":"
		var named []string
		for line := range strings.Lines(err.Error()) {
			if strings.Contains(line, pod) {
				named = append(named, strings.TrimSpace(line))
			}
		}
		if len(named) == 0 {
			continue
		}
		if p, ok := lastPatch(r.explainer.Origin(m, f)); ok {
			p.Message = named[0]
			if more := len(named) - 1; more > 0 {
				p.Message += fmt.Sprintf(" (and %s of this pod)",
					wording.Count(more, "other error"))
			}
			problems = append(problems, p)
		}
	}
	if len(problems) == 0 {
		return err
	}
	return problems
}

// lastPatch returns a problem at the last of these places that is a patch. ok reports whether there
// is one.
func lastPatch(places []config.Place) (p config.Problem, ok bool) {
	for _, at := range places {
		if ofPatch.MatchString(at.Field) {
			ok = true
			p = config.Problem{
				File: at.File, Line: at.Line, Column: at.Column, Path: at.Field,
			}
		}
	}
	return p, ok
}

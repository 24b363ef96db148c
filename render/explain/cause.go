package explain

import (
	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/yamlpath"
)

// Cause returns the place of a mistake in a file of m: in the stage that brought the mistake there,
// the value at the path or, if the stage does not set it, what is around it. inner leads on in the
// document whose text is at the path; it is "" for a value of the file itself. wrong reports
// whether a version of the document has the mistake. The place is empty if the document of the file
// cannot be made once more, and if no stage brought the mistake.
func (r *Explainer) Cause(
	m *plan.Machine, f *node.File, path, inner string, wrong func(text []byte) bool,
) config.Place {
	stages, err := r.history(m, f)
	if err != nil || len(stages) == 0 {
		return config.Place{}
	}
	at := len(stages) - 1
	if !stages[at].exists || !wrong(stages[at].text) {
		return config.Place{}
	}
	for at > 0 && stages[at-1].exists && wrong(stages[at-1].text) {
		at--
	}
	p := stages[at].doc.Nearest(path)
	place := stages[at].source(p)
	if inner != "" {
		r.lead(&place, stages[at].doc, p, inner)
	}
	return place
}

// lead leads a place in a patch on to what the patch sets in the document whose text is at path p,
// if it is a patch of that document.
func (r *Explainer) lead(
	place *config.Place, d yamlpath.Document, p yamlpath.Path, inner string,
) {
	patch, ok := r.PatchText(place.Field)
	value, _ := d.Value(p)
	text, _ := value.(string)
	docs := yamlpath.Documents([]byte(text))
	if !ok || len(docs) == 0 {
		return
	}
	at := docs[0].Nearest(inner)
	set, _ := docs[0].Value(at)
	if line, column := positionInPatch(patch, at, set); line > 0 {
		*place = r.Plan.Config.TextPlace(place.Field, "patch", "patchFrom", line, column)
	}
}

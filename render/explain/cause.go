package explain

import (
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/yamltext"
)

// Cause returns the place of a mistake in a file of m: the value, in the stage that brought the
// mistake there. For example, /etc/kubernetes/manifests/etcd.yaml has an unknown flag at the path
// spec.containers[0].command. Its stages are kiln's manifest, then each patch of the user in turn.
// If the second patch is the first stage with the flag, the place is the line of that patch which
// sets the command, or what is around it if the patch does not set it.
//
// wrong reports whether the text of a stage has the mistake. inner is "" for a value of the file
// itself. If the value is itself a document, such as a configuration in a ConfigMap, inner leads to
// the value in that document. The place is empty if the file's document cannot be made once more,
// and if no stage brought the mistake.
func (r *Explainer) Cause(
	m *plan.Machine, f *node.File, path, inner string, wrong func(text []byte) bool,
) config.Place {
	stages, err := r.history(m, f)
	if err != nil || len(stages) == 0 {
		return config.Place{}
	}
	at := len(stages) - 1
	if !stages[at].exists || !wrong(stages[at].text()) {
		return config.Place{}
	}
	for at > 0 && stages[at-1].exists && wrong(stages[at-1].text()) {
		at--
	}
	p := stages[at].doc().Nearest(path)
	place := stages[at].source(p)
	if inner != "" {
		r.lead(&place, stages[at].doc(), p, inner)
	}
	return place
}

// lead leads a place in a patch on to what the patch sets in the document whose text is at path p,
// if it is a patch of that document.
func (r *Explainer) lead(
	place *config.Place, d yamltext.Document, p yamltext.Path, inner string,
) {
	patch, ok := r.PatchText(place.Field)
	value, _ := d.Value(p)
	text, _ := value.(string)
	docs := yamltext.Documents([]byte(text))
	if !ok || len(docs) == 0 {
		return
	}
	at := docs[0].Nearest(inner)
	set, _ := docs[0].Value(at)
	if line, column := positionInPatch(patch, at, set); line > 0 {
		*place = r.Plan.Config.TextPlace(place.Field, "patch", "patchFrom", line, column)
	}
}

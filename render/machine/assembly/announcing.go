// This file makes what a machine has to announce the state of its first boot: the script
// with its key, and the CA of the server. The hook starts the script; package templates has it.

package assembly

import (
	"strings"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/templates"
)

// AnnounceFiles returns these files; none for a machine that announces nothing. b is nil without
// secrets; then the script has no content.
func AnnounceFiles(p *plan.Plan, public *pki.Public, b *pki.Bundle, m *plan.Machine) []node.File {
	if !m.Announces() {
		return nil
	}
	text := func(key string) string {
		return templates.Announce(m.AnnounceURL(), m.AnnounceTrust(), key)
	}
	mark := public.Mark(pki.AnnounceName(m))
	script := node.File{
		Path: templates.AnnouncePath, Mode: 0o600, Secret: mark,
		Why:   "announces the state of the first boot",
		Shown: templates.AnnounceShown(text(strings.Repeat("0", 64)), mark),
	}
	if b != nil {
		script.Content = []byte(text(string(b.AnnounceKey(m))))
	}
	if m.AnnounceTrust() != plan.AnnounceCA {
		return []node.File{script}
	}
	r := &m.Settings.Report
	return []node.File{script, {
		Path: plan.AnnounceCA, Mode: 0o644, Why: "the CA of the server that it announces to",
		Content: public.TrustedCA(r.CA, p.Config.Text(r.CAFrom)),
		From:    []string{m.Settings.Path("report")},
	}}
}

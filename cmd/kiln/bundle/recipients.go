package bundle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kiln/render/config"
	"kiln/render/shell"
)

// RecipientFlag is the flag that names a recipient which a bundle did not have until now. What the
// configuration alone says is no consent: somebody else may have written it.
const RecipientFlag = "--new-recipient"

// checkConsent returns an error if a configuration, in the file path, would give the bundle of the
// file name to a recipient that it did not have, and that the command line does not name. It also
// fails if the command line names one that the configuration does not.
func (s *Source) checkConsent(name string, had []string, path string, c *config.Cluster) error {
	wanted := c.Spec.Secrets.Recipients
	for _, r := range s.NewRecipients {
		if !slices.Contains(wanted, r) {
			return fmt.Errorf("%s %s: spec.secrets.recipients does not have it; "+
				"write it there, or leave the flag out", RecipientFlag, shell.Word(r))
		}
	}
	had = slices.Concat(had, s.NewRecipients)
	added := without(wanted, had)
	if len(added) == 0 {
		return nil
	}
	lines := append([]string{fmt.Sprintf("%s: the configuration names recipients that it did not "+
		"have until now, and each could read every secret of the cluster:", name)},
		differences(had, wanted)...)
	ask := "Ask that person first, and not by the way that the file came"
	if _, err := os.Stat(path); err == nil {
		ask = history(path, added[0]) + " shows who wrote it. " + ask
	}
	return fmt.Errorf("%s\n%s; then name it: %s RECIPIENT, once for each",
		strings.Join(lines, "\n"), ask, RecipientFlag)
}

// history returns the command that shows who wrote a recipient into a configuration. The beginning
// of a post-quantum recipient, which has 2,000 letters, finds it too.
func history(path, recipient string) string {
	dir := ""
	if filepath.Dir(path) != "." {
		dir = " -C " + shell.Word(filepath.Dir(path))
	}
	return fmt.Sprintf("git%s log -S %s -- %s", dir,
		shell.Word(recipient[:min(62, len(recipient))]), shell.Word(filepath.Base(path)))
}

// had returns the recipients that the bundle had until now. The bundle lists them itself, where
// nobody can change them who cannot open it. What a passphrase opens has none.
func (f *File) had() []string {
	if f.Sealed && f.lock.ByPassphrase() {
		return nil
	}
	return f.Recipients
}

// Differences returns the recipients that the configuration adds to those that the bundle has, and
// those that it takes away.
func (f *File) Differences() (added, gone []string) {
	return without(f.wanted, f.had()), without(f.had(), f.wanted)
}

// differences returns a line for each recipient that is new, and for each that goes.
func differences(had, wanted []string) (lines []string) {
	for _, r := range without(wanted, had) {
		lines = append(lines, fmt.Sprintf("  + %s (not a recipient until now)", r))
	}
	for _, r := range without(had, wanted) {
		lines = append(lines, "  - "+r)
	}
	return lines
}

// without returns the elements of a that are not in b.
func without(a, b []string) (left []string) {
	for _, text := range a {
		if !slices.Contains(b, text) {
			left = append(left, text)
		}
	}
	return left
}

// Notes returns notes if the bundle of a configuration is not encrypted as that says: what differs,
// and what to do.
func (f *File) Notes() []string {
	note, lines := "", differences(f.had(), f.wanted)
	switch {
	case f.Piped || f.New:
	case !f.Sealed && len(f.wanted) > 0:
		note = "%s is not encrypted, although the configuration names recipients"
	case !f.Sealed && len(f.Recipients) > 0:
		return []string{fmt.Sprintf("%s is not encrypted any more; spec.secrets.recipients says "+
			"to whom it is to be encrypted, and is missing", f.Path)}
	case !f.Sealed || len(f.wanted) == 0:
	case f.lock.ByPassphrase():
		note = "%s is encrypted with a passphrase, and the configuration names recipients"
	case len(f.Recipients) == 0:
		note = "%s is encrypted, and kiln does not know whether to the recipients of the " +
			"configuration"
	case len(lines) > 0:
		note = "%s is encrypted to other recipients than those of the configuration"
	}
	if note == "" {
		return nil
	}
	note = fmt.Sprintf(note, f.Path)
	if added, _ := f.Differences(); len(added) > 0 {
		return append(append([]string{note + ":"}, lines...), "find out whose each new one is, "+
			"for it could read every secret (docs/secrets.md); kiln secrets encrypt then takes it "+
			"with "+RecipientFlag)
	}
	remedy := "to encrypt it to these, run: " + f.encrypt
	if len(lines) == 0 {
		return []string{note + "; " + remedy}
	}
	return append(append([]string{note + ":"}, lines...), remedy)
}

// configured notes what the configuration in the file path says about the bundle.
func (f *File) configured(s *Source, path string, c *config.Cluster) {
	f.wanted = c.Spec.Secrets.Recipients
	f.encrypt = "kiln secrets encrypt " + shell.Word(path)
	if s.Secrets != "" {
		f.encrypt += " --secrets " + shell.Word(s.Secrets)
	}
	if f.Sealed && s.Keys != nil && s.Keys.Path != "" {
		f.encrypt += " --identity " + shell.Word(s.Keys.Path)
	}
}

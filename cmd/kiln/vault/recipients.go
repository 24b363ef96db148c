package vault

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/text/wording"
)

// RecipientFlag is the flag that names a recipient which a bundle did not have until now. What the
// configuration alone says is no consent: somebody else may have written it.
const RecipientFlag = "--new-recipient"

// checkNamed returns an error if the command line names a recipient that the configuration does
// not.
func (s *Source) checkNamed(c *config.Cluster) error {
	if left := without(s.NewRecipients, c.Spec.Secrets.Recipients); len(left) > 0 {
		return fmt.Errorf("%s %s: spec.secrets.recipients does not have it; "+
			"write it there, or leave the flag out", RecipientFlag, wording.ShellWord(left[0]))
	}
	return nil
}

// checkConsent returns an error if a configuration, in the file path, would give the bundle of the
// file name to a recipient that it did not have, and that the command line does not name. It also
// fails if the command line names one that the configuration does not. f is nil if there is no
// bundle yet. No command in the error has a new recipient after the flag: who copies it would
// consent without asking anybody.
func (s *Source) checkConsent(f *File, name, path string, c *config.Cluster) error {
	if err := s.checkNamed(c); err != nil {
		return err
	}
	what := "%s: these could read the new bundle, with every secret of the cluster:"
	had := s.NewRecipients
	if f != nil {
		what = "%s: the configuration names recipients that the bundle did not have until now, " +
			"and each could read every secret of the cluster:"
		had = slices.Concat(had, f.had())
	}
	wanted := c.Spec.Secrets.Recipients
	added := without(wanted, had)
	if len(added) == 0 {
		return nil
	}
	lines := append([]string{fmt.Sprintf(what, name)}, differences(had, wanted)...)
	if InWorkTree(path) {
		lines = append(lines, history(path, added[0])+" shows who wrote it.")
	}
	return fmt.Errorf("%s\nFirst ask the owner of each recipient, over another channel than the "+
		"one by which the file came. If you know them all, run the same command again, with "+
		"%s RECIPIENT for each, as its owner told you", strings.Join(lines, "\n"), RecipientFlag)
}

// checkStored returns an error if the command line of a verb that encrypts no stored bundle anew
// names a recipient that the bundle does not have. One that it has may be named: the same command
// line runs again.
func (f *File) checkStored(s *Source, c *config.Cluster) error {
	if err := s.checkNamed(c); err != nil {
		return err
	}
	left := s.NewRecipients
	if f.Sealed {
		left = without(left, f.had())
	}
	if len(left) > 0 {
		return fmt.Errorf("%s: the bundle %s is there already, and is not encrypted to this "+
			"recipient; run: %s %[1]s RECIPIENT", RecipientFlag, f.Path, f.encrypt)
	}
	f.again = len(s.NewRecipients) > 0
	return nil
}

// history returns the command that shows who wrote a recipient into a configuration. The beginning
// of a post-quantum recipient, which has 2,000 letters, finds it too.
func history(path, recipient string) string {
	dir := ""
	if filepath.Dir(path) != "." {
		dir = " -C " + wording.ShellWord(filepath.Dir(path))
	}
	return fmt.Sprintf("git%s log -S %s -- %s", dir,
		wording.ShellWord(recipient[:min(62, len(recipient))]),
		wording.ShellWord(filepath.Base(path)))
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
	case f.again && len(lines) == 0:
		return []string{fmt.Sprintf("%s: %s is encrypted to it already, and the flag changes "+
			"nothing", RecipientFlag, f.Path)}
	case !f.Sealed && len(f.wanted) > 0:
		note = "%s is not encrypted, although the configuration names recipients"
	case !f.Sealed && len(f.Recipients) > 0:
		return []string{fmt.Sprintf("%s is not encrypted any more; spec.secrets.recipients says "+
			"to whom it is to be encrypted, and is missing", f.Path)}
	case !f.Sealed:
	case len(f.wanted) == 0 && len(lines) > 0:
		return append(append([]string{f.Path + " is encrypted to recipients that the " +
			"configuration does not name any more:"}, lines...), "it stays so; write those that "+
			"are to open it into spec.secrets.recipients")
	case len(f.wanted) == 0:
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
	f.encrypt = "kiln secrets encrypt " + wording.ShellWord(path)
	if s.Secrets != "" {
		f.encrypt += " --secrets " + wording.ShellWord(s.Secrets)
	}
	if f.Sealed && s.Keys != nil && s.Keys.Path != "" {
		f.encrypt += " --identity " + wording.ShellWord(s.Keys.Path)
	}
}

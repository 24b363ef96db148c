package upkeep

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/text/wording"
)

// encryptFlags are the flags of kiln secrets encrypt.
type encryptFlags struct {
	vault.Source
	config folder.Input
	others bool // --to-others-only
	form   string
}

// EncryptCommand returns the verb that encrypts the bundle.
func EncryptCommand() *cobra.Command {
	var f encryptFlags
	cmd := &cobra.Command{
		Use:   "encrypt [FILE] [--secrets FILE] [--identity FILE] [--new-recipient RECIPIENT]",
		Short: "Encrypt the bundle to the recipients of the configuration",
		Long: `Encrypt the bundle with age, to spec.secrets.recipients of the configuration. A plain
bundle NAME.secrets.yaml is replaced, and is NAME.secrets.yaml.age then; a bundle
with another name keeps it. A bundle that is encrypted already is encrypted anew if
its recipients are others: --identity opens it. No other verb changes to whom a
bundle is encrypted.

Somebody else may have written the configuration: a recipient that the bundle did not
have until now is named on the command line too, with --new-recipient. If --identity
does not open the result, nothing is written without --to-others-only.

The plain text is overwritten in no place: the blocks of the disk, snapshots, backups
and the history of git may still hold it. So may an older encrypted version, for a
recipient that was taken away. If somebody else may have read one of them, rotate the
keys: docs/leaked.md.

age -d shows a bundle, and writes it back in plain.`,
		Example: `  kiln secrets encrypt cluster.yaml --new-recipient age1…
  kiln secrets encrypt cluster.yaml --identity ~/.config/kiln/key.txt`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	term.TakeConfig(cmd, &f.config)
	cmd.Flags().StringVar(&f.Secrets, "secrets", "", "encrypt the bundle in `FILE` (default: "+
		"NAME.secrets.yaml or NAME.secrets.yaml.age beside the configuration)")
	vault.IdentityFlag(cmd, &f.Source)
	vault.NewRecipientFlag(cmd, &f.Source)
	cmd.Flags().BoolVar(&f.others, "to-others-only", false, "encrypt the bundle also if your "+
		"identity does not open it then")
	term.OutputFlag(cmd, &f.form, "report")
	return cmd
}

func (f *encryptFlags) run(cmd *cobra.Command) error {
	c, err := render.ConfigPublic(&f.config)
	if err != nil {
		return err
	}
	recipients := c.Spec.Secrets.Recipients
	if len(recipients) == 0 {
		return fmt.Errorf("%s: spec.secrets.recipients is missing: to whom? "+
			"age-keygen -o FILE makes an identity and prints its recipient", f.config.Path)
	}
	b, err := f.ToEncrypt(f.config.Path, c)
	if err != nil {
		return err
	}
	unread, err := f.unreadable(b, recipients)
	if err != nil {
		return err
	}
	added, gone := b.Differences()
	var notes []string
	if plain := f.Keys.PlainFile(); plain != "" {
		notes = vault.KeepOutOfGit(filepath.Dir(f.config.Path),
			vault.SecretFile{Name: plain, Read: true})
	}
	done, err := b.Encrypt(recipients)
	if err != nil {
		return err
	}
	defer func() { term.Notes(cmd.ErrOrStderr(), notes) }()
	if f.form == "json" {
		return term.Report(cmd.OutOrStdout(), struct {
			Bundle     string   `json:"bundle"`
			Recipients []string `json:"recipients"`
			Added      []string `json:"added"`
			Removed    []string `json:"removed"`
			Changed    bool     `json:"changed"`
		}{b.Path, recipients, term.NonNil(added), term.NonNil(gone), done})
	}
	to := wording.Count(len(recipients), "recipient")
	if !done {
		term.Printf(cmd.OutOrStdout(), "%s: encrypted to %s already\n", b.Path, to)
		return nil
	}
	term.Printf(cmd.OutOrStdout(), "%s: encrypted to %s\n", b.Path, to)
	term.Each(cmd.OutOrStdout(), "  + %s\n", added)
	term.Each(cmd.OutOrStdout(), "  - %s\n", gone)
	switch {
	case unread != nil:
		notes = append(notes, "you cannot read it any more: "+unread.Error())
	case !f.Keys.Given():
		notes = append(notes, "try that you can read it: kiln secrets public --identity FILE "+
			"--secrets "+wording.ShellWord(b.Path))
	}
	notes = append(notes, "the disk, its backups and git may still hold "+
		"what the file was before; whoever could read that has every secret until it is rotated")
	return nil
}

// unreadable returns why the identity at hand will not open the bundle, and nil if it will, or if
// none was given. That is the error unless --to-others-only is given: nobody here might ever read
// the bundle again.
func (f *encryptFlags) unreadable(b *vault.File, recipients []string) (why, err error) {
	if !f.Keys.Given() {
		return nil, nil
	}
	sealed, err := (&vault.Lock{Recipients: recipients}).Seal([]byte("a try"))
	if err != nil {
		return nil, err
	}
	_, _, why = f.Keys.Open(b.Path, sealed)
	if why != nil && !f.others {
		return nil, fmt.Errorf("%w: you could not read the bundle any more; add the recipient of "+
			"your identity to spec.secrets.recipients, or name another identity; if the bundle "+
			"is for others alone, add --to-others-only", why)
	}
	return why, nil
}

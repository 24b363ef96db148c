package vault

import (
	"strings"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
)

// besideConfig is where a bundle lies that no flag names.
const besideConfig = " (default: NAME.secrets.yaml beside the configuration)"

// BundleFlags adds the flags for the bundle of a verb that reads it.
func BundleFlags(cmd *cobra.Command, s *Source) {
	cmd.Flags().StringVar(&s.Secrets, "secrets", "", "read the bundle from `FILE`, or from "+
		"standard input if it is -"+besideConfig)
	IdentityFlag(cmd, s)
}

// ChangeBundleFlags adds the flags for the bundle of a verb that changes it.
func ChangeBundleFlags(cmd *cobra.Command, s *Source) {
	cmd.Flags().StringVar(&s.Secrets, "secrets", "", "read the bundle from `FILE`, and "+
		"write it there"+besideConfig)
	IdentityFlag(cmd, s)
}

// IdentityFlag adds the flag for the identity that opens an encrypted bundle.
func IdentityFlag(cmd *cobra.Command, s *Source) {
	s.Keys, s.Stdin = &Keys{}, stdin{cmd}
	cmd.Flags().StringVar(&s.Keys.Path, "identity", "", "open an encrypted bundle with an age "+
		"identity in `FILE` (default: the file that "+IdentityVariable+" names)")
}

// stdin is the standard input that a command has when it runs.
type stdin struct{ of *cobra.Command }

func (s stdin) Read(p []byte) (int, error) { return s.of.InOrStdin().Read(p) }

// NewRecipientFlag adds the flag for the recipients that a bundle may get.
func NewRecipientFlag(cmd *cobra.Command, s *Source) {
	cmd.Flags().StringArrayVar(&s.NewRecipients, strings.TrimPrefix(RecipientFlag, "--"),
		nil, "encrypt the bundle to this `RECIPIENT` of the configuration, which it did not have "+
			"until now; may be repeated")
}

// CheckSource returns an error if the flags name both a bundle and a public half.
func CheckSource(s *Source) error {
	if s.Public != "" && s.Secrets != "" {
		return term.UsageErrorf("--public and --secrets: name one of them")
	}
	return nil
}

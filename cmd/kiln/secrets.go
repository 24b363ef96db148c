package main

import (
	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/upkeep"
	"kiln.dev/kiln/cmd/kiln/vault/foreign"
)

func secretsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secrets",
		Short: "Look after the bundle",
		Long: "Look after the bundle, the file with every secret of a cluster. kiln render " +
			"makes it,\nor kiln secrets import from the keys of a cluster that runs.",
		Example: `  kiln secrets renew prod.yaml
  kiln secrets public --secrets prod.secrets.yaml --out prod.public.yaml
  kiln secrets extend --secrets prod.secrets.yaml
  kiln secrets encrypt prod.yaml
  kiln secrets import prod.yaml --pki /etc/kubernetes/pki`,
		RunE: func(*cobra.Command, []string) error {
			return term.UsageErrorf("kiln secrets needs a verb; " +
				"for example: kiln secrets public --secrets prod.secrets.yaml")
		},
	}
	cmd.AddCommand(upkeep.RenewCommand(), upkeep.RotateCommand(), upkeep.EncryptCommand(),
		extendCommand(), publicCommand(), foreign.ImportCommand())
	return cmd
}

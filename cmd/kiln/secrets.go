package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func secretsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "secrets",
		Short:   "Look after the bundle",
		Example: "  kiln secrets extend --secrets prod.secrets.yaml",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, list []string) error {
			if len(list) > 0 {
				return usageError{fmt.Errorf("unknown verb %q of secrets; see: kiln help secrets", list[0])}
			}
			return usageError{fmt.Errorf("secrets needs a verb; see: kiln help secrets")}
		},
	}
	cmd.AddCommand(extendCommand(), publicCommand())
	return cmd
}

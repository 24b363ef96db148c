package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
	"kiln/render/plan"
)

func platformsCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "platforms",
		Short:   "List the platforms, and what a document may weigh there",
		Example: "  kiln platforms",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := outputFlag(output); err != nil {
				return err
			}
			if output == "json" {
				return message.JSON(cmd.OutOrStdout(), plan.Platforms)
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			message.Printf(table, "PLATFORM\tBYTES\tCOUNTED\tFORM OF LARGE CLOUD-INIT DOCUMENTS\n")
			for _, p := range plan.Platforms {
				message.Printf(table, "%s\t%s\t%s\t%s\n", p.Name, limit(&p), p.Counted, largeForm(&p))
			}
			return table.Flush()
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "the list's form: text or json")
	return cmd
}

// limit is how large a document may be, in words.
func limit(p *plan.Platform) string {
	switch {
	case p.Limit > 0:
		return fmt.Sprint(p.Limit)
	case p.Unknown:
		return "unknown"
	}
	return "no limit"
}

// largeForm is how a cloud-init document is packed that is larger than the limit as plain text.
func largeForm(p *plan.Platform) string {
	switch {
	case p.Limit == 0:
		return "plain"
	case p.TextOnly:
		return "gzip in a MIME message"
	}
	return "gzip"
}

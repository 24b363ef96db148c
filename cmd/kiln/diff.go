package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/state"
)

func diffCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show what differs between two states of a cluster, machine by machine",
		Long: "Show what differs between two states of a cluster, machine by machine: YAML by its keys, command lines by their flags, certificates and units by\n" +
			"their parts. What is the same change on several machines is shown once. Exit 3 if anything differs.\n\n" + state.Forms,
		Example: `  kiln diff review cluster.yaml
  kiln diff main:review review
  kiln diff main:review review -o markdown`,
		Args: args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := cmp.Or(outputFlag(f.output, "markdown"), f.check(cmd)); err != nil {
				return err
			}
			d, err := f.compare(list[0], list[1])
			if err != nil {
				return err
			}
			if err = f.print(cmd.OutOrStdout(), d); err == nil && d.Changed() {
				err = errDifferent
			}
			return err
		},
	}
	f.add(cmd)
	return cmd
}

package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/state"
	"kiln/render/change"
)

func planCommand() *cobra.Command {
	var f compareFlags
	var o change.Options
	cmd := &cobra.Command{
		Use:   "plan A B",
		Short: "Show which machines a change asks to replace, in which order, and why",
		Long: "Show which machines a change asks to replace, and why, and the steps in an order that keeps etcd's quorum, Kubernetes' version skew and as many\n" +
			"workers as you want. A change that would break the running cluster is refused (exit 1), unless it is forced by name.\n\n" + state.Forms,
		Example: `  kiln plan main:review review
  kiln plan review cluster.yaml --max-unavailable 2
  kiln plan review cluster.yaml --force single-member`,
		Args: args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := cmp.Or(outputFlag(f.output, "markdown"), f.check(cmd)); err != nil {
				return err
			}
			d, err := f.compare(list[0], list[1])
			if err != nil {
				return err
			}
			p, err := change.New(d, o)
			if err != nil {
				return usageError{err}
			}
			if err = f.print(cmd.OutOrStdout(), p); err == nil && len(p.Refused) > 0 {
				err = errRefused
			}
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().StringSliceVar(&o.Force, "force", nil, "override these refusals, by name: "+strings.Join(change.Refusals(), ", "))
	cmd.Flags().StringVar(&o.MaxUnavailable, "max-unavailable", maxUnavailable, "how many workers may be away together: a number, or a share of them (at least one)")
	return cmd
}

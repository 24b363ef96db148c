package compare

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/state"
	"kiln/cmd/kiln/summary"
	"kiln/cmd/kiln/usage"
	"kiln/render/change"
	"kiln/render/expiry"
	"kiln/render/rollout"
)

// PlanCommand returns the verb plan.
func PlanCommand() *cobra.Command {
	var f sharedFlags
	var o rollout.Options
	cmd := &cobra.Command{
		Use:         "plan A B",
		Annotations: usage.Reads(),
		Short:       "Show which machines a change replaces, in which order, and why",
		Long: `Show which machines must be replaced to get from state A to state B, and why. The
order of the steps keeps etcd's quorum, Kubernetes' version skew, and as many
workers as you want. kiln refuses a change that would break the running cluster
(exit code 1), unless --force names the refusal.

` + state.Forms,
		Example: `  kiln plan main:review review
  kiln plan review cluster.yaml --max-unavailable 2
  kiln plan review cluster.yaml --force single-member`,
		Args: usage.TakeArgs(2, 2, "two states, A and B", "kiln plan review cluster.yaml"),
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			old, now, err := f.read(list[0], list[1])
			if err != nil {
				return err
			}
			d := change.Compare(old, now)
			message.Notes(cmd.ErrOrStderr(), summary.Ends(time.Now(), expiry.Running(old, now)))
			p, err := rollout.New(d, o)
			if err != nil {
				return usage.Error{Err: err}
			}
			if err = f.print(cmd.OutOrStdout(), p); err == nil && len(p.Refused) > 0 {
				err = usage.ErrRefused
			}
			return err
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&o.Force, "force", nil,
		"override the refusal with this `NAME`: "+strings.Join(rollout.Refusals(), ", "))
	flags.StringVar(&o.MaxUnavailable, "max-unavailable", MaxUnavailable,
		"let this `NUMBER` of workers be away together; a share such as 10% means at least one")
	return cmd
}

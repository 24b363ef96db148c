package compare

import (
	"cmp"
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
	var f planFlags
	cmd := &cobra.Command{
		Use:         "plan A B",
		Annotations: usage.Reads(),
		Short:       "Show which machines a change replaces, in which order, and why",
		Long: `Show which machines must be replaced to get from state A to state B, and why. The
order of the steps keeps etcd's quorum, Kubernetes' version skew, and as many
workers as you want. kiln refuses a change that would break the running cluster
(exit code 1), unless --force names the refusal.

With --nodes the plan begins with what runs. Each Node says which document its machine
runs; some run A, some run B already, and kiln says what is left to do. So the same
command can be given again after each step, and after a step that failed. A machine that
needed nothing of an earlier change still runs a document of before: name such states in
front of A.

` + state.Forms,
		Example: `  kiln plan main:review review
  kiln plan review cluster.yaml --max-unavailable 2
  kiln plan review cluster.yaml --force single-member
  kubectl get nodes -o json | kiln plan main:review review --nodes -
  kubectl get nodes -o json | kiln plan main~2:review main:review review --nodes -`,
		Args: usage.TakeArgs(2, maxStates, "two states, A and B", "kiln plan review cluster.yaml"),
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := cmp.Or(f.check(cmd), f.checkNodes(list)); err != nil {
				return err
			}
			return f.run(cmd, list)
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.options.Force, "force", nil,
		"override the refusal with this `NAME`: "+strings.Join(rollout.Refusals(), ", "))
	flags.StringVar(&f.options.MaxUnavailable, "max-unavailable", MaxUnavailable,
		"let this `NUMBER` of workers be away together; a share such as 10% means at least one")
	f.runs.Flags(cmd)
	return cmd
}

// maxStates is how many states plan compares at most.
const maxStates = 20

// planFlags are the flags of plan.
type planFlags struct {
	sharedFlags
	options rollout.Options
	runs    Runs
}

// checkNodes returns an error if the flags about what runs contradict others.
func (f *planFlags) checkNodes(states []string) error {
	if !f.runs.Given() && len(states) > 2 {
		return usage.Errorf("kiln plan takes two states, A and B, and %q is one too many; with "+
			"--nodes, earlier ones may stand in front of A", states[2])
	}
	return f.runs.Check(&f.states.Bundle)
}

func (f *planFlags) run(cmd *cobra.Command, states []string) error {
	last := len(states) - 2
	old, now, err := f.read(states[last], states[last+1])
	if err != nil {
		return err
	}
	if f.options.Running, err = f.runs.Read(cmd); err != nil {
		return err
	}
	for _, arg := range states[:last] {
		c, err := f.states.Read(arg)
		if err != nil {
			return err
		}
		f.options.Running.Earlier = append(f.options.Running.Earlier, c)
	}
	message.Notes(cmd.ErrOrStderr(), summary.Ends(time.Now(), expiry.Running(old, now)))
	p, err := rollout.New(change.Compare(old, now), f.options)
	if err != nil {
		return usage.Error{Err: err}
	}
	if err = f.print(cmd.OutOrStdout(), p); err == nil && len(p.Refused) > 0 {
		err = usage.ErrRefused
	}
	return err
}

package compare

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/state"
	"kiln.dev/kiln/cmd/kiln/summary"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// PlanCommand returns the verb plan.
func PlanCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:         "plan A B [C ...]",
		Annotations: term.Reads(),
		Short:       "Show what a change asks of which machines, in which order, and why",
		Long: `Show which machines are changed in place or replaced to get from state A to state
B, and why. The order of the steps keeps etcd's quorum, Kubernetes' version skew, and as many
workers as you want. kiln refuses a change that would break the running cluster
(exit code 1), unless --force names the refusal.

With --nodes the plan begins with what runs. Each Node says which document its machine
runs; some run A, some run B already, and kiln says what is left to do. So the same
command can be given again after each step, and after a step that failed. A machine that
needed nothing of an earlier change still runs a document of before: name such states in
front of A.

Without --nodes, several states are one hop after the other: kiln plan A B C says what to
do from A to B, and then from B to C. An upgrade by two minors of Kubernetes is two hops.
With --nodes the plan is that of the hop that comes next.

` + state.Forms,
		Example: `  kiln plan main:review review
  kiln plan review cluster.yaml --max-unavailable 2
  kiln plan review cluster.yaml --force single-member
  kiln plan v1.35:review v1.36:review review
  kubectl get nodes -o json | kiln plan main:review review --nodes -
  kubectl get nodes -o json | kiln plan main~2:review main:review review --nodes -`,
		Args: term.TakeArgs(2, rollout.MaxStates, "two states or more, A and B",
			"kiln plan review cluster.yaml"),
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := cmp.Or(f.check(cmd), f.runs.Check(&f.states.Bundle)); err != nil {
				return err
			}
			return f.run(cmd, list)
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.options.Force, "force", nil,
		"override the refusal with this `NAME`: "+strings.Join(rollout.Refusals(), ", "))
	flags.StringVar(&f.options.MaxUnavailable, "max-unavailable", rollout.MaxUnavailable,
		"let this `NUMBER` of workers be away together; a share such as 10% means at least one")
	f.runs.Flags(cmd)
	return cmd
}

// planFlags are the flags of plan.
type planFlags struct {
	sharedFlags
	options rollout.Options
	runs    Runs
}

func (f *planFlags) run(cmd *cobra.Command, states []string) error {
	list, err := f.readAll(states)
	if err != nil {
		return err
	}
	if f.options.Running, err = f.runs.Read(cmd); err != nil {
		return err
	}
	last := len(list) - 1
	ends := change.Running(list[last-1].Cluster, list[last].Cluster)
	if info, err := os.Stat(states[last]); err == nil && info.Mode().IsRegular() {
		for i := range ends {
			ends[i].Config = config.Flag(states[last])
		}
	}
	term.Notes(cmd.ErrOrStderr(), summary.Ends(time.Now(), ends))
	var p interface{ Text(change.Form) string }
	refused := false
	switch {
	case f.options.Running == nil && last > 1:
		hops, err := rollout.NewHops(list, f.options)
		if err != nil {
			return term.UsageError{Err: err}
		}
		p, refused = hops, hops.Refused()
	default:
		steps, err := f.steps(list)
		if err != nil {
			return term.UsageError{Err: err}
		}
		p, refused = steps, len(steps.Refused) > 0
	}
	if err = f.print(cmd.OutOrStdout(), p, unseen(list)); err == nil && refused {
		err = term.ErrRefused
	}
	return err
}

// unseen says what one of the differences between the states does not show.
func unseen(list []rollout.State) string {
	for i := range list[1:] {
		if text := change.Compare(list[i].Cluster, list[i+1].Cluster).Unseen(); text != "" {
			return text
		}
	}
	return ""
}

// steps returns the steps between two states, or from what runs.
func (f *planFlags) steps(list []rollout.State) (*rollout.Steps, error) {
	if f.options.Running != nil {
		return rollout.Next(list, f.options)
	}
	f.options.Since, f.options.Documents = []string{list[0].Since()}, list[1].Documents
	return rollout.New(change.Compare(list[0].Cluster, list[1].Cluster), f.options)
}

// readAll reads states, and names each as a word of a shell. Standard input cannot be read again,
// and a folder cannot if it is rendered anew, as when the newest state is a configuration. Then a
// copy of a review twin has to be kept, but none of documents, which hold secrets.
func (f *planFlags) readAll(args []string) (list []rollout.State, err error) {
	info, err := os.Stat(args[len(args)-1])
	renders := err == nil && info.Mode().IsRegular()
	for _, arg := range args {
		s, err := f.states.Named(arg)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(arg)
		switch {
		case arg == folder.Stdin:
			s.Name = "OLD"
		case err != nil || !renders || !info.IsDir():
		case state.IsTwin(arg):
			arg = filepath.Clean(arg)
			kept := arg + "-before"
			for n := 2; !term.AbsentPath(kept); n++ { // cp would write into it
				kept = fmt.Sprintf("%s-before-%d", arg, n)
			}
			s.Kept = wording.ShellWord(kept)
			f.options.Keep = append(f.options.Keep, "cp -r "+wording.ShellWord(arg)+" "+s.Kept)
		default:
			s.Kept = "OLD"
		}
		list = append(list, s)
	}
	return list, nil
}

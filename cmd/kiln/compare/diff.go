package compare

import (
	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/state"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/twin/change"
)

// DiffCommand returns the verb diff.
func DiffCommand() *cobra.Command {
	var f sharedFlags
	cmd := &cobra.Command{
		Use:         "diff A B",
		Annotations: term.Reads(),
		Short:       "Show the differences between two states of a cluster, machine by machine",
		Long: `Show the differences between two states of a cluster, machine by machine. YAML is
compared key by key, a command line flag by flag, a certificate or a unit part by
part. A change that is the same on several machines is shown once. The exit code is
3 if the states differ. Only two folders of documents have the contents of your own
secrets: with other states their names are listed, and they are no difference.

` + state.Forms,
		Example: `  kiln diff review cluster.yaml
  kiln diff main:review review
  kiln diff main:review review -o markdown`,
		Args: term.TakeArgs(2, 2, "two states, A and B", "kiln diff review cluster.yaml"),
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			old, now, err := f.read(list[0], list[1])
			if err != nil {
				return err
			}
			d := change.Compare(old, now)
			if err = f.print(cmd.OutOrStdout(), d, d.Unseen()); err == nil && d.Changed() {
				err = term.ErrDifferent
			}
			return err
		},
	}
	f.add(cmd)
	return cmd
}

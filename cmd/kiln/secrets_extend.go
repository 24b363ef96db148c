package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
	"kiln/render"
)

// maxWindow is how far a deadline moves without a flag that says so.
const maxWindow = 168 * time.Hour

// extendFlags are the flags of kiln secrets extend.
type extendFlags struct {
	path              string
	window            time.Duration
	installOnly, long bool
}

// extendCommand moves the two deadlines of the bundle: of etcd's formation and of the install
// credential.
func extendCommand() *cobra.Command {
	var f extendFlags
	cmd := &cobra.Command{
		Use:   "extend --secrets FILE [--install-only]",
		Short: "Move the end of the install credential, and the formation deadline of a cluster that has not been formed yet",
		Long: "Move two dates of the bundle to some time from now, and render again after it.\n\n" +
			"A cluster that has not been formed in time needs both: the formation deadline, until which a new etcd cluster may be formed, and\n" +
			"the end of the install credential, which applies the API objects.\n\n" +
			"A cluster that lives needs the second one alone, --install-only, for a new control plane that is to be labelled. Its etcd must not\n" +
			"be formed anew: without --install-only its members would be allowed to.\n\n" +
			"The credential is of the group system:masters and cannot be revoked. Keep the window short.",
		Example: `  kiln secrets extend --secrets prod.secrets.yaml --window 48h
  kiln secrets extend --secrets prod.secrets.yaml --window 4h --install-only`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().StringVar(&f.path, "secrets", "", "the bundle")
	durationVar(cmd, &f.window, "window", maxWindow, "how long from now")
	cmd.Flags().BoolVar(&f.installOnly, "install-only", false, "move the end of the install credential alone: etcd's formation stays closed")
	cmd.Flags().BoolVar(&f.long, "longer-than-a-week", false, "let --window be longer than 168h")
	return cmd
}

func (f *extendFlags) run(cmd *cobra.Command) error {
	if err := required("secrets", f.path, "prod.secrets.yaml"); err != nil {
		return err
	}
	switch {
	case f.window <= 0:
		return usageError{fmt.Errorf("--window %s: want a time ahead, such as 168h", f.window)}
	case f.window > maxWindow && !f.long:
		return usageError{fmt.Errorf("--window %s: longer than %s, and nobody can revoke the install credential (system:masters) before it ends; "+
			"want a shorter one, or add --longer-than-a-week", f.window, maxWindow)}
	}
	b, stored, err := render.GivenBundle(f.path, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if !stored {
		return fmt.Errorf("--secrets %s: extend changes the bundle, and what comes from a pipe cannot be written back; name the bundle's file", f.path)
	}
	deadline := time.Now().UTC().Truncate(time.Second).Add(f.window)
	if end := b.CA.Certificate.NotAfter; deadline.After(end) {
		return fmt.Errorf("--window %s: reaches beyond the end of the cluster's CA (%s)", f.window, end.Format(time.DateOnly))
	}
	until := deadline.Format(time.RFC3339)
	said := "the formation deadline is " + until + ", and the install credential ends then"
	opens := "kiln: until then whoever holds the document of any control plane is system:masters, and nobody can revoke that; " +
		"a cluster that lives could be formed a second time: for one, use --install-only\n"
	if f.installOnly {
		b.ExtendInstall(deadline)
		said = "the install credential ends on " + until + "; the formation deadline is " + b.FormationDeadline.Format(time.RFC3339) + " as before"
		opens = "kiln: until then whoever holds the document of any control plane is system:masters, and nobody can revoke that\n"
	} else {
		b.Extend(deadline)
	}
	if err := render.ReplaceBundle(f.path, b); err != nil {
		return err
	}
	message.Printf(cmd.OutOrStdout(), "%s: %s; render again\n", f.path, said)
	message.Printf(cmd.ErrOrStderr(), "%s", opens)
	return nil
}

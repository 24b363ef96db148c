package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/pki"
)

// maxWindow is the longest window that --window may set without --longer-than-a-week.
const maxWindow = 168 * time.Hour

// extendFlags are the flags of kiln secrets extend.
type extendFlags struct {
	vault.Source
	form              string
	window            time.Duration
	installOnly, long bool
}

func extendCommand() *cobra.Command {
	var f extendFlags
	cmd := &cobra.Command{
		Use:   "extend --secrets FILE [--install-only]",
		Short: "Move the deadline to form the cluster, and the end of the install credential",
		Long: `Move two dates of the bundle to --window from now, which may be earlier than before.
Render again after it.

The formation deadline is the date until which machines may form a new etcd cluster.
The install credential, which also ends on a date, applies the API objects. A cluster
that was not formed in time needs both dates moved.

Never move the formation deadline of a running cluster: its members would be allowed
to form etcd a second time. New machines and new certificates need neither date.
--install-only moves the end of the install credential alone.

The install credential belongs to the group system:masters, and nobody can revoke
it. Keep the window short.`,
		Example: `  kiln secrets extend --secrets prod.secrets.yaml --window 48h
  kiln secrets extend --secrets prod.secrets.yaml --window 4h --install-only`,
		Args: term.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().StringVar(&f.Secrets, "secrets", "",
		"read the bundle from `FILE`, and write it there")
	vault.IdentityFlag(cmd, &f.Source)
	term.DurationFlag(cmd, &f.window, "window", maxWindow,
		"let both dates end this `TIME` from now")
	cmd.Flags().BoolVar(&f.installOnly, "install-only", false,
		"move the end of the install credential alone; nobody can form etcd again")
	term.OutputFlag(cmd, &f.form, "new dates")
	cmd.Flags().BoolVar(&f.long, "longer-than-a-week", false, "let --window be longer than 168h")
	return cmd
}

// check returns an error if flags are missing or wrong.
func (f *extendFlags) check() error {
	switch {
	case f.Secrets == "":
		return term.CheckGiven("secrets", f.Secrets, "prod.secrets.yaml")
	case f.window <= 0:
		return term.UsageErrorf("--window %s: want a time ahead, such as 168h", f.window)
	case f.window > maxWindow && !f.long:
		return term.UsageErrorf("--window %s: longer than %s, and nobody can revoke the "+
			"install credential (system:masters) before it ends; want a shorter one, or add "+
			"--longer-than-a-week", f.window, maxWindow)
	}
	return nil
}

func (f *extendFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	b, err := f.ReadToChange("extend")
	if err != nil {
		return err
	}
	if err := b.CheckForms(); err != nil && !f.installOnly {
		return err
	}
	now := time.Now().UTC().Truncate(time.Second)
	if err := b.CheckClock(now); err != nil {
		return err
	}
	deadline := now.Add(f.window)
	if end := b.Authority(pki.CA).Certificate.NotAfter; deadline.After(end) {
		return fmt.Errorf("--window %s: reaches beyond the end of the cluster's CA (%s)",
			f.window, end.Format(time.DateOnly))
	}
	done, warning := f.extend(b.Bundle, deadline)
	ends, note := b.InstallEnds()
	if err := b.Replace(); err != nil {
		return err
	}
	term.Printf(cmd.ErrOrStderr(), "kiln: %s\n", warning)
	if f.form == "json" {
		return term.Report(cmd.OutOrStdout(), struct {
			Bundle            string    `json:"bundle"`
			FormationDeadline time.Time `json:"formationDeadline"`
			InstallEnds       time.Time `json:"installEnds"`
		}{f.Secrets, b.FormationDeadline, ends})
	}
	term.Printf(cmd.OutOrStdout(), "%s: %s%s; render again\n", f.Secrets, done, note)
	return nil
}

// extend moves the dates in b to deadline. It returns what it did, and what this allows.
func (f *extendFlags) extend(b *pki.Bundle, deadline time.Time) (done, warning string) {
	until := deadline.Format(time.RFC3339)
	warning = "until then, anyone who holds the document of a control plane is system:masters, " +
		"and nobody can revoke that"
	if f.installOnly {
		earlier := sooner(deadline, b.InstallEnd())
		b.ExtendInstall(deadline)
		return fmt.Sprintf("the install credential ends on %s%s; the formation deadline is %s as "+
			"before", until, earlier, b.FormationDeadline.Format(time.RFC3339)), warning
	}
	earlier := sooner(deadline, b.FormationDeadline)
	b.Extend(deadline)
	return fmt.Sprintf("the formation deadline is %s%s, and the install credential ends then",
			until, earlier),
		warning + "; a running cluster could be formed a second time: never do this for one"
}

// sooner says that a date comes before the one that it replaces, or nothing if it comes after.
func sooner(date, before time.Time) string {
	if !date.Before(before) {
		return ""
	}
	return fmt.Sprintf(" (earlier than before: %s)", before.Format(time.RFC3339))
}

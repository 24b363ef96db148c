package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kiln/render"
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

// publicCommand writes what of the bundle everybody may know.
func publicCommand() *cobra.Command {
	var path, out string
	cmd := &cobra.Command{
		Use:   "public --secrets FILE [--out FILE]",
		Short: "Write the public half of the bundle, for review without secrets",
		Long: "Write the half of the bundle that is no secret: UUID, dates, generations, CA certificates. With it in git, beside the configuration\n" +
			"and named NAME.public.yaml, kiln render --review works for everybody, CI included. Write it again after every change of the bundle.",
		Example: "  kiln secrets public --secrets prod.secrets.yaml --out prod.public.yaml",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := required("secrets", path, "prod.secrets.yaml"); err != nil {
				return err
			}
			b, _, err := render.GivenBundle(path, cmd.InOrStdin())
			if err != nil {
				return err
			}
			if out != "" {
				if err := render.WritePublic(out, &b.Public); err != nil {
					return err
				}
				say(cmd.OutOrStdout(), "%s: the public half of %s; commit it\n", out, path)
				return nil
			}
			text, err := b.Public.Marshal()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	cmd.Flags().StringVar(&path, "secrets", "", "the bundle; - reads it from standard input")
	cmd.Flags().StringVar(&out, "out", "", "the file for the public half (default: print it); an older public half is replaced")
	return cmd
}

// extendCommand moves the formation deadline: for a cluster whose machines were not booted in time.
func extendCommand() *cobra.Command {
	var path string
	var window time.Duration
	cmd := &cobra.Command{
		Use:   "extend --secrets FILE",
		Short: "Move the formation deadline of a cluster that has not been formed yet",
		Long: "Move the date until which a new etcd cluster may be formed, and until which the install credential is valid, to some time\n" +
			"from now. Render again after it. Never do this for a cluster that lives: its members would be allowed to begin anew.",
		Example: "  kiln secrets extend --secrets prod.secrets.yaml --window 48h",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := required("secrets", path, "prod.secrets.yaml"); err != nil {
				return err
			}
			if window <= 0 {
				return usageError{fmt.Errorf("--window %s: want a time ahead, such as 168h", window)}
			}
			b, stored, err := render.GivenBundle(path, cmd.InOrStdin())
			if err != nil {
				return err
			}
			if !stored {
				return fmt.Errorf("--secrets %s: extend changes the bundle, and what comes from a pipe cannot be written back; name the bundle's file", path)
			}
			b.FormationDeadline = time.Now().UTC().Truncate(time.Second).Add(window)
			if end := b.CA.Certificate.NotAfter; b.FormationDeadline.After(end) {
				return fmt.Errorf("--window %s: reaches beyond the end of the cluster's CA (%s)", window, end.Format(time.DateOnly))
			}
			if err := render.ReplaceBundle(path, b); err != nil {
				return err
			}
			say(cmd.OutOrStdout(), "%s: the formation deadline is %s; render again\n", path, b.FormationDeadline.Format(time.RFC3339))
			return nil
		},
	}
	cmd.Flags().StringVar(&path, "secrets", "", "the bundle")
	cmd.Flags().DurationVar(&window, "window", 168*time.Hour, "how long from now")
	return cmd
}

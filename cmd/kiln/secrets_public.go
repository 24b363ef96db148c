package main

import (
	"github.com/spf13/cobra"

	"kiln/cmd/kiln/bundle"
	"kiln/cmd/kiln/message"
	"kiln/render"
)

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
				if err := bundle.CheckNewest(out, path, &b.Public); err != nil {
					return err
				}
				if err := render.WritePublic(out, &b.Public); err != nil {
					return err
				}
				message.Printf(cmd.OutOrStdout(), "%s: the public half of %s; commit it\n", out, path)
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

package main

import (
	"github.com/spf13/cobra"

	"kiln/cmd/kiln/bundle"
	"kiln/cmd/kiln/message"
	"kiln/render"
)

// publicFlags are the flags of kiln secrets public.
type publicFlags struct{ secrets, out string }

func publicCommand() *cobra.Command {
	var f publicFlags
	cmd := &cobra.Command{
		Use:   "public --secrets FILE [--out FILE]",
		Short: "Write the public half of the bundle, for review without secrets",
		Long: `Write the half of the bundle that is no secret: UUID, dates, generations, and CA
certificates. Put it into git beside the configuration, with the name
NAME.public.yaml. Then kiln render --review works for everybody, CI included. Write
it again after every change of the bundle.`,
		Example: "  kiln secrets public --secrets prod.secrets.yaml --out prod.public.yaml",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkGiven("secrets", f.secrets, "prod.secrets.yaml"); err != nil {
				return err
			}
			return f.run(cmd)
		},
	}
	cmd.Flags().StringVar(&f.secrets, "secrets", "",
		"read the bundle from `FILE`, or from standard input if it is -")
	cmd.Flags().StringVar(&f.out, "out", "", "write the public half to `FILE`, "+
		"and replace an older public half there (default: print it)")
	return cmd
}

func (f *publicFlags) run(cmd *cobra.Command) error {
	b, _, err := render.GivenBundle(f.secrets, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if f.out == "" {
		content, err := b.Public.Marshal()
		if err != nil {
			return err
		}
		_, err = cmd.OutOrStdout().Write(content)
		return err
	}
	if err := bundle.CheckNewest(f.out, f.secrets, &b.Public); err != nil {
		return err
	}
	if err := render.WritePublic(f.out, &b.Public); err != nil {
		return err
	}
	message.Printf(cmd.OutOrStdout(), "%s: the public half of %s; commit it\n", f.out, f.secrets)
	return nil
}

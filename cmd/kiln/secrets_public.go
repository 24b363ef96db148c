package main

import (
	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/folder"
)

// publicFlags are the flags of kiln secrets public.
type publicFlags struct {
	vault.Source
	config    folder.Input
	out, form string
}

func publicCommand() *cobra.Command {
	var f publicFlags
	cmd := &cobra.Command{
		Use:         "public [CONFIG] [--secrets FILE] [--out FILE]",
		Annotations: term.Reads("out"),
		Short:       "Write the public half of the bundle, for review without secrets",
		Long: `Write the half of the bundle that is no secret: UUID, dates, generations, and CA
certificates. Put it into git beside the configuration, with the name
NAME.public.yaml. Then kiln render --review works for everybody, CI included. Write
it again after every change of the bundle.`,
		Example: "  kiln secrets public prod.yaml --out prod.public.yaml\n" +
			"  kiln secrets public --secrets prod.secrets.yaml --out prod.public.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	term.TakeConfig(cmd, &f.config)
	find := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, list []string) error {
		if f.Secrets != "" && f.config.Path == "" && len(list) == 0 {
			return nil // the bundle alone is enough
		}
		return find(cmd, list)
	}
	vault.BundleFlags(cmd, &f.Source)
	cmd.Flags().StringVar(&f.out, "out", "", "write the public half to `FILE`, "+
		"and replace an older public half there (default: print it)")
	term.OutputFlag(cmd, &f.form, "report about --out")
	return cmd
}

// check returns an error if flags are missing or contradict each other.
func (f *publicFlags) check() error {
	if f.form == "json" && f.out == "" {
		return term.UsageErrorf("-o json reports what --out wrote, and --out is missing; " +
			"for example --out prod.public.yaml")
	}
	return nil
}

func (f *publicFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.config.Path != "" {
		c, err := render.ConfigPublic(&f.config)
		if err != nil {
			return err
		}
		f.Secrets = f.Path(f.config.Path, c.Metadata.Name)
	}
	b, err := f.Read()
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
	if err := vault.CheckReplaces(f.out, f.Secrets, &b.Public); err != nil {
		return err
	}
	if err := render.WritePublic(f.out, &b.Public); err != nil {
		return err
	}
	if f.form == "json" {
		return term.Report(cmd.OutOrStdout(), struct {
			Public string `json:"public"`
			Bundle string `json:"bundle"`
		}{f.out, f.Secrets})
	}
	term.Printf(cmd.OutOrStdout(), "%s: the public half of %s; commit it\n", f.out, f.Secrets)
	return nil
}

package main

import (
	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render"
)

type unpackFlags struct {
	out, form, body   string
	tree, showSecrets bool
}

func unpackCommand() *cobra.Command {
	var f unpackFlags
	cmd := &cobra.Command{
		Use:         "unpack DOCUMENT [FILE...]",
		Annotations: term.Reads("out"),
		Short:       "Show what a boot document puts on its machine, without its secrets",
		Long: `Show what a boot document puts on its machine: a list, or the content of files.
DOCUMENT is one of these:
  a config.ign or user-data   as kiln wrote it, or as a cloud gives it back: compressed,
                              in base64, or in the JSON of aws ec2
                              describe-instance-attribute
  a machine's folder          nodes/cp-1
  -                           standard input

A document does not say which of its files are secret. kiln conceals credentials
(docs/secrets.md), values of names like PASSWORD, files in which kiln keeps secrets,
and files that other users of the machine may not read.

Files and pipes get the content of a file unchanged. A terminal gets escapes in
place of control characters.`,
		Example: `  kiln unpack nodes/cp-1/config.ign
  kiln unpack nodes/cp-1 /etc/kubernetes/manifests/etcd.yaml
  kiln unpack nodes/worker-1/user-data --tree
  kiln unpack nodes/worker-1 --out ./worker-1
  aws ec2 describe-instance-attribute --instance-id i-0123456789abcdef0 --attribute userData |
    kiln unpack -`,
		Args: term.TakeArgs(1, 0, "a DOCUMENT or a machine's folder", "kiln unpack nodes/cp-1"),
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := f.check(list[1:]); err != nil {
				return err
			}
			u, err := render.Unpack(list[0], f.body, cmd.InOrStdin())
			if err != nil {
				return err
			}
			report := unpackedReport{
				Stdout: cmd.OutOrStdout(), Stderr: cmd.ErrOrStderr(),
				Out: f.out, Tree: f.tree, JSON: f.form == "json", ShowSecrets: f.showSecrets,
			}
			if err := report.Print(u, list[1:]); err != nil {
				return err
			}
			if f.out != "" && f.showSecrets {
				term.Notes(cmd.ErrOrStderr(),
					vault.KeepOutOfGit(".", vault.SecretFile{Name: f.out, Folder: true}))
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.tree, "tree", false, "list directories, files and links as a tree")
	flags.StringVar(&f.out, "out", "", "write the files, and an INDEX of them, into the new "+
		"folder `DIR`")
	flags.StringVar(&f.body, "body", "", "read the body, which the machine fetches, from `FILE` "+
		"(default: the body beside the document, if it is there)")
	flags.BoolVar(&f.showSecrets, "show-secrets", false, "show and write secrets too")
	term.OutputFlag(cmd, &f.form, "report")
	return cmd
}

// check returns an error if flags are wrong or contradict each other.
func (f *unpackFlags) check(paths []string) error {
	switch {
	case f.out != "" && (f.tree || len(paths) > 0):
		return term.UsageErrorf("--out writes every file; leave --tree and the names of " +
			"files out")
	case f.tree && (f.form == "json" || len(paths) > 0):
		return term.UsageErrorf("--tree is a list for people; " +
			"leave -o json and the names of files out")
	}
	return nil
}

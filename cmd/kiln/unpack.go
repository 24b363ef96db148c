package main

import (
	"io"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/screen"
	"kiln/cmd/kiln/twin"
	"kiln/render"
	"kiln/render/plural"
)

type unpackFlags struct {
	out, form, body   string
	tree, showSecrets bool
}

func unpackCommand() *cobra.Command {
	var f unpackFlags
	cmd := &cobra.Command{
		Use:   "unpack DOCUMENT [FILE...]",
		Short: "Show what a boot document puts on its machine, without its secrets",
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
		Args: takeArgs(1, 0, "a DOCUMENT or a machine's folder", "kiln unpack nodes/cp-1"),
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := f.check(list[1:]); err != nil {
				return err
			}
			u, err := render.Unpack(list[0], f.body, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return f.run(cmd, u, list[1:])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.tree, "tree", false, "list directories, files and links as a tree")
	flags.StringVar(&f.out, "out", "", "write the files, and an INDEX of them, into the new "+
		"folder `DIR`")
	flags.StringVar(&f.body, "body", "", "read the body, which the machine fetches, from `FILE` "+
		"(default: the body beside the document, if it is there)")
	flags.BoolVar(&f.showSecrets, "show-secrets", false, "show and write secrets too")
	outputFlag(cmd, &f.form, "report")
	return cmd
}

// check returns an error if flags are wrong or contradict each other.
func (f *unpackFlags) check(paths []string) error {
	switch {
	case f.out != "" && (f.tree || len(paths) > 0):
		return usageErrorf("--out writes every file; leave --tree and the names of " +
			"files out")
	case f.tree && (f.form == "json" || len(paths) > 0):
		return usageErrorf("--tree is a list for people; " +
			"leave -o json and the names of files out")
	}
	return checkOutput(f.form)
}

func (f *unpackFlags) run(cmd *cobra.Command, u *render.Unpacked, paths []string) error {
	out, messages := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if f.showSecrets {
		u.ShowSecrets()
	}
	if b := u.Missing(); b != nil {
		message.Printf(messages, "kiln: this is not all of the machine: it fetches the rest from "+
			"%s, and the rest is not here (SHA-512 %.16s…); name its file with --body\n",
			b.URL, b.SHA512)
	}
	switch {
	case f.out != "":
		return f.write(cmd, u)
	case len(paths) > 0:
		return f.contents(cmd, u, paths)
	case f.form == "json":
		return message.JSON(out, u.Machine())
	}
	list := u.List()
	if f.tree {
		list = u.Tree()
	}
	if f.showSecrets {
		message.Printf(messages, "kiln: secrets in the machine's settings are shown; "+
			"the contents of its files are not: name them, or --out\n")
	}
	_, err := out.Write(list)
	return err
}

// contents prints the content of files.
func (f *unpackFlags) contents(cmd *cobra.Command, u *render.Unpacked, paths []string) error {
	contents, secrets, err := u.Contents(paths)
	if err != nil {
		return err
	}
	f.warn(cmd.ErrOrStderr(), secrets)
	if f.form == "json" {
		files, err := u.Files(paths)
		if err != nil {
			return err
		}
		return message.JSON(cmd.OutOrStdout(), files)
	}
	_, err = screen.Raw(cmd.OutOrStdout(), false).Write(contents)
	return err
}

// write writes all files into the folder of --out.
func (f *unpackFlags) write(cmd *cobra.Command, u *render.Unpacked) error {
	if f.showSecrets {
		if err := twin.CheckOutside("out", f.out); err != nil {
			return err
		}
	}
	secrets, err := render.WriteUnpacked(u, f.out)
	if err != nil {
		return err
	}
	f.warn(cmd.ErrOrStderr(), secrets)
	files := len(u.Machine().Files)
	if f.form == "json" {
		return message.JSON(cmd.OutOrStdout(), struct {
			Folder  string `json:"folder"`
			Files   int    `json:"files"`
			Secrets int    `json:"secrets"`
			Shown   bool   `json:"shown"`
		}{f.out, files, secrets, f.showSecrets})
	}
	message.Printf(cmd.OutOrStdout(), "%s in %s; INDEX has their modes and owners, and the units\n",
		plural.Count(files, "file"), f.out)
	return nil
}

// warn prints the number of files with secrets, and whether these are shown.
func (f *unpackFlags) warn(messages io.Writer, secrets int) {
	files := plural.Count(secrets, "file")
	switch {
	case secrets == 0:
	case f.showSecrets:
		message.Printf(messages, "kiln: %s with secrets of the machine: keep them like the "+
			"machine itself, and out of git and logs\n", files)
	default:
		message.Printf(messages, "kiln: the content of %s is not shown, because it is secret "+
			"or may be; --show-secrets shows it\n", files)
	}
}

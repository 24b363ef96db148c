package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/screen"
	"kiln/cmd/kiln/twin"
	"kiln/render"
)

type unpackFlags struct {
	out, output, body string
	tree, showSecrets bool
}

func unpackCommand() *cobra.Command {
	var f unpackFlags
	cmd := &cobra.Command{
		Use:   "unpack DOCUMENT [FILE...]",
		Short: "Show what a boot document puts on its machine, without its secrets",
		Long: "Show what a boot document puts on its machine: a list, or the contents of files. DOCUMENT is a config.ign or user-data as kiln wrote it or as a\n" +
			"cloud gives it back (compressed, in base64, in the JSON of aws ec2 describe-instance-attribute), a machine's folder, or - for standard input.\n" +
			"A document does not say what is secret in it: credentials (docs/secrets.md), what kiln keeps secrets in, and what others may not read on the machine count.\n" +
			"The content of a file goes to a file or a pipe as it is. On a terminal, characters that it would obey are shown as escapes.",
		Example: `  kiln unpack nodes/cp-1/config.ign
  kiln unpack nodes/cp-1 /etc/kubernetes/manifests/etcd.yaml
  kiln unpack nodes/worker-1/user-data --tree
  kiln unpack nodes/worker-1 --out ./worker-1
  aws ec2 describe-instance-attribute --instance-id i-0123456789abcdef0 --attribute userData | kiln unpack -`,
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := f.wrong(list[1:]); err != nil {
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
	flags.StringVar(&f.out, "out", "", "a new folder for the files and an INDEX of them")
	flags.StringVar(&f.body, "body", "", "what the machine fetches (default: the body beside the document, if it is there)")
	flags.BoolVar(&f.showSecrets, "show-secrets", false, "show and write secrets too")
	flags.StringVarP(&f.output, "output", "o", "text", "the report's form: text or json")
	return cmd
}

// wrong returns what is wrong with the flags.
func (f *unpackFlags) wrong(paths []string) error {
	switch {
	case f.out != "" && (f.tree || len(paths) > 0):
		return usageError{errors.New("--out writes every file; leave --tree and the names of files out")}
	case f.tree && (f.output == "json" || len(paths) > 0):
		return usageError{errors.New("--tree is a list for people; leave -o json and the names of files out")}
	}
	return outputFlag(f.output)
}

func (f *unpackFlags) run(cmd *cobra.Command, u *render.Unpacked, paths []string) error {
	out, messages := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if f.showSecrets {
		u.ShowSecrets()
	}
	if b := u.Missing(); b != nil {
		message.Printf(messages, "kiln: this is not all of the machine: it fetches the rest from %s, and that is not here (SHA-512 %.16s…); name it with --body\n", b.URL, b.SHA512)
	}
	switch {
	case f.out != "":
		return f.write(cmd, u)
	case len(paths) > 0:
		return f.contents(cmd, u, paths)
	case f.output == "json":
		return message.JSON(out, u.Machine())
	}
	text := u.List()
	if f.tree {
		text = u.Tree()
	}
	if f.showSecrets {
		message.Printf(messages, "kiln: secrets in the machine's settings are shown; the contents of its files are not: name them, or --out\n")
	}
	_, err := out.Write(text)
	return err
}

// contents prints files.
func (f *unpackFlags) contents(cmd *cobra.Command, u *render.Unpacked, paths []string) error {
	text, secrets, err := u.Contents(paths)
	if err != nil {
		return err
	}
	f.warn(cmd.ErrOrStderr(), secrets)
	if f.output == "json" {
		files, err := u.Files(paths)
		if err != nil {
			return err
		}
		return message.JSON(cmd.OutOrStdout(), files)
	}
	_, err = screen.Raw(cmd.OutOrStdout(), false).Write(text)
	return err
}

// write writes all files.
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
	if f.output == "json" {
		return message.JSON(cmd.OutOrStdout(), struct {
			Folder  string `json:"folder"`
			Files   int    `json:"files"`
			Secrets int    `json:"secrets"`
			Shown   bool   `json:"shown"`
		}{f.out, files, secrets, f.showSecrets})
	}
	message.Printf(cmd.OutOrStdout(), "%s in %s; INDEX tells modes, owners and units\n", message.Count(files, "file"), f.out)
	return nil
}

// warn says of how many files the secrets are shown, or not.
func (f *unpackFlags) warn(messages io.Writer, secrets int) {
	switch {
	case secrets == 0:
	case f.showSecrets:
		message.Printf(messages, "kiln: %s with secrets of the machine: keep them like the machine itself, and out of git and logs\n", message.Count(secrets, "file"))
	default:
		message.Printf(messages, "kiln: %s with secrets, or what may be some, without the content; --show-secrets shows it\n", message.Count(secrets, "file"))
	}
}

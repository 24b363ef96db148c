package main

import (
	"cmp"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/text/wording"
)

type explainFlags struct {
	node, form string
	config     folder.Input
	bundle     vault.Source
}

func explainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:         "explain [FIELD] | PATH --node NAME [--config FILE]",
		Annotations: term.Reads(),
		Short: "Document a field of cluster.yaml, or say where a " +
			"value on a machine comes from",
		Long: `Document a field of cluster.yaml, or list the fields if none is given. With --node,
say which layer, patch or default set a value. PATH is one of these:
  a setting below machines           kubelet.maxPods
  a field of the whole cluster       network.cni
  a file on the machine              /etc/motd
  a value in a file, after a colon   /var/lib/kubelet/config.yaml:maxPods
Files need the bundle or its public half. No secret is ever shown.`,
		Example: `  kiln explain network.cni
  kiln explain kubelet.maxPods --node worker-1 --config cluster.yaml
  kiln explain /etc/motd --node worker-1 --config cluster.yaml
  kiln explain /var/lib/kubelet/config.yaml:maxPods --node worker-1 --config cluster.yaml
  kiln explain /etc/kubernetes/manifests/kube-apiserver.yaml:--audit-log-maxage \
    --node cp-1 --config cluster.yaml`,
		Args: term.TakeArgs(0, 1, "one field or path", "kiln explain network.cni"),

		ValidArgsFunction: completeField,
		RunE: func(cmd *cobra.Command, list []string) error {
			asked := ""
			if len(list) > 0 {
				asked = list[0]
			}
			if err := f.check(cmd, asked); err != nil {
				return err
			}
			err := f.run(cmd, asked)
			var unknown *wording.Unknown
			if errors.As(err, &unknown) {
				return term.UsageError{Err: err}
			}
			return err
		},
	}
	term.ConfigFlag(cmd, &f.config)
	term.OutputFlag(cmd, &f.form, "explanation")
	flags, b := cmd.Flags(), &f.bundle
	flags.StringVar(&f.node, "node", "", "explain a value of the machine with this `NAME`, "+
		"which is a node or a pool")
	flags.StringVar(&b.Secrets, "secrets", "", "read the bundle from `FILE`; only its public "+
		"half is used (default: NAME.secrets.yaml beside the configuration)")
	vault.IdentityFlag(cmd, b)
	flags.StringVar(&b.Public, "public", "", "read the public half of the bundle from `FILE` "+
		"(default: NAME.public.yaml beside the configuration, if there is no bundle)")
	return cmd
}

// check returns an error if flags are missing or contradict each other.
func (f *explainFlags) check(cmd *cobra.Command, asked string) error {
	switch {
	case f.node == "" && f.config.Path != "":
		return term.UsageErrorf("--config needs --node: whose value is asked for? " +
			"For example --node worker-1; without both, a field of cluster.yaml is documented")
	case f.node == "" && strings.HasPrefix(asked, "/"):
		return term.UsageErrorf("%s lies on a machine; name the machine, "+
			"for example with --node worker-1 --config cluster.yaml", asked)
	case f.node != "" && asked == "":
		return term.UsageErrorf("which value of %s? Name a setting or a file, "+
			"for example kubelet.maxPods or /etc/motd", f.node)
	}
	if err := vault.CheckSource(&f.bundle); err != nil || f.node == "" {
		return err
	}
	return term.FindConfig(cmd, &f.config)
}

func (f *explainFlags) run(cmd *cobra.Command, asked string) error {
	out := cmd.OutOrStdout()
	switch {
	case f.node == "":
		return f.field(out, asked)
	case strings.HasPrefix(asked, "/"):
		return f.file(out, asked)
	}
	c, err := render.ConfigPublic(&f.config)
	if err != nil {
		return err
	}
	settings, err := c.Explain(f.node, asked)
	if err != nil {
		return err
	}
	if f.form == "json" {
		return term.JSON(out, settings)
	}
	term.Each(out, "%s", settings)
	return nil
}

// field documents a field of cluster.yaml. Without a field, it documents spec, which lists the
// fields.
func (f *explainFlags) field(out io.Writer, asked string) error {
	doc, ok := config.Field(cmp.Or(asked, "spec"))
	if !ok {
		return term.UsageError{Err: config.NoField(asked)}
	}
	if f.form == "json" {
		return term.JSON(out, doc)
	}
	term.Printf(out, "%s", doc)
	if asked == "" {
		term.Printf(out, "\nkiln explain FIELD documents one of them, "+
			"for example: kiln explain network.cni\n")
	}
	return nil
}

// file explains a file on the machine, or a value in a file.
func (f *explainFlags) file(out io.Writer, asked string) error {
	c, err := render.ConfigPublic(&f.config)
	if err != nil {
		return err
	}
	half, _, err := f.bundle.Half(f.config.Path, c.Metadata.Name)
	if err != nil {
		return err
	}
	r, err := render.NewPublic(c, half)
	if err != nil {
		return err
	}
	e, err := r.Explain(f.node, asked)
	if err != nil {
		return err
	}
	if f.form == "json" {
		return term.JSON(out, e)
	}
	term.Printf(out, "%s", e)
	return nil
}

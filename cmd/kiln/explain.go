package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/bundle"
	"kiln/cmd/kiln/message"
	"kiln/render"
	"kiln/render/config"
)

type explainFlags struct {
	node, config, output string
	bundle               bundle.Source
}

func explainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain FIELD | PATH --node NAME --config FILE",
		Short: "Document a field of cluster.yaml, or tell where a value on a machine comes from",
		Long: "Document a field of cluster.yaml or, with --node, tell which layer, patch or default gave a value. PATH is a setting as below machines\n" +
			"(kubelet.maxPods), a field of the whole cluster (network.cni), a file on the machine, or a value in one, behind a colon.\n" +
			"Files need the bundle or its public half; no secret is ever shown.",
		Example: `  kiln explain network.cni
  kiln explain kubelet.maxPods --node worker-1 --config cluster.yaml
  kiln explain /etc/motd --node worker-1 --config cluster.yaml
  kiln explain /var/lib/kubelet/config.yaml:maxPods --node worker-1 --config cluster.yaml
  kiln explain /etc/kubernetes/manifests/kube-apiserver.yaml:--audit-log-maxage --node cp-1 --config cluster.yaml`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := f.wrong(list[0]); err != nil {
				return err
			}
			err := f.run(cmd, list[0])
			var unknown *config.Unknown
			if errors.As(err, &unknown) {
				return usageError{err}
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.node, "node", "", "the machine: a node or a pool")
	flags.StringVarP(&f.config, "config", "c", "", "the cluster's configuration")
	flags.StringVar(&f.bundle.Secrets, "secrets", "", "the bundle, of which the public half is used (default: NAME.secrets.yaml beside the configuration)")
	flags.StringVar(&f.bundle.Public, "public", "", "the public half of the bundle (default: NAME.public.yaml beside the configuration, if there is no bundle)")
	flags.StringVarP(&f.output, "output", "o", "text", "the explanation's form: text or json")
	return cmd
}

// wrong returns what is wrong with the flags.
func (f *explainFlags) wrong(asked string) error {
	switch {
	case f.node == "" && f.config != "":
		return usageError{errors.New("--config needs --node: whose value is asked for? For example --node worker-1; without both, a field of cluster.yaml is documented")}
	case f.node == "" && strings.HasPrefix(asked, "/"):
		return usageError{fmt.Errorf("%s lies on a machine; name it, for example with --node worker-1 --config cluster.yaml", asked)}
	}
	if err := checkSource(&f.bundle); err != nil || f.node == "" {
		return cmp.Or(err, outputFlag(f.output))
	}
	return cmp.Or(required("config", f.config, "cluster.yaml"), outputFlag(f.output))
}

func (f *explainFlags) run(cmd *cobra.Command, asked string) error {
	out := cmd.OutOrStdout()
	switch {
	case f.node == "":
		return f.field(out, asked)
	case strings.HasPrefix(asked, "/"):
		f.bundle.Stdin = cmd.InOrStdin()
		return f.file(out, asked)
	}
	c, err := render.ConfigPublic(f.config)
	if err != nil {
		return err
	}
	settings, err := c.Explain(f.node, asked)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return message.JSON(out, settings)
	}
	for _, s := range settings {
		message.Printf(out, "%s", s)
	}
	return nil
}

// field documents a field of cluster.yaml.
func (f *explainFlags) field(out io.Writer, asked string) error {
	doc, ok := config.Field(asked)
	if !ok {
		return usageError{fmt.Errorf("%q is no field of cluster.yaml; for example: kiln explain network.cni", asked)}
	}
	if f.output == "json" {
		return message.JSON(out, doc)
	}
	message.Printf(out, "%s", doc)
	return nil
}

// file explains a file of the machine, or a value in it.
func (f *explainFlags) file(out io.Writer, asked string) error {
	c, err := render.ConfigPublic(f.config)
	if err != nil {
		return err
	}
	public, _, err := f.bundle.Half(f.config, c.Metadata.Name)
	if err != nil {
		return err
	}
	r, err := render.NewPublic(c, public)
	if err != nil {
		return err
	}
	e, err := r.Explain(f.node, asked)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return message.JSON(out, e)
	}
	message.Printf(out, "%s", e)
	return nil
}

package compare

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/apiserver"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/twin/review"
)

// Runs are the flags that say what runs.
type Runs struct {
	nodes      string
	kubeconfig string // of the cluster that is asked for its Nodes
	done       []string
}

// Flags adds the flags to a verb.
func (r *Runs) Flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&r.nodes, "nodes", "", "begin with what runs, as `FILE` says, the output of "+
		"kubectl get nodes -o json; standard input if it is -")
	flags.StringVar(&r.kubeconfig, "kubeconfig", "", "as --nodes, but ask the cluster itself, "+
		"with the kubeconfig in `FILE`")
	flags.StringSliceVar(&r.done, "done", nil,
		"with --nodes: the machine with this `NAME` is as the newer state wants it, although no "+
			"Node says so: an etcd machine that was replaced or removed")
}

// Given reports whether a flag says what runs.
func (r *Runs) Given() bool { return r.nodes != "" || r.kubeconfig != "" }

// Check returns an error if the flags contradict each other, or those of the bundle.
func (r *Runs) Check(b *vault.Source) error {
	switch {
	case r.nodes != "" && r.kubeconfig != "":
		return term.UsageErrorf("--nodes and --kubeconfig both say what runs: name one of them")
	case !r.Given() && len(r.done) > 0:
		return term.UsageErrorf("--done says what runs: name the Nodes as well, with --nodes")
	case r.nodes == folder.Stdin && b.Secrets == folder.Stdin:
		return term.UsageErrorf("--nodes - and --secrets -: standard input is one of them; " +
			"name a file for the other")
	}
	return nil
}

// Read returns what runs; nil if no flag says it.
func (r *Runs) Read(cmd *cobra.Command) (*running.Running, error) {
	if !r.Given() {
		return nil, nil
	}
	read := r.readNodes
	if r.kubeconfig != "" {
		read = r.askNodes
	}
	out, err := read(cmd)
	if err != nil {
		return nil, err
	}
	out.Done, out.Digest = r.done, review.DigestOf
	return out, nil
}

// askNodes asks the cluster what runs.
func (r *Runs) askNodes(cmd *cobra.Command) (*running.Running, error) {
	c, err := apiserver.New(r.kubeconfig, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), apiserver.Limit)
	defer cancel()
	return c.Running(ctx)
}

// readNodes reads the Nodes of --nodes, and the marker if it is there.
func (r *Runs) readNodes(cmd *cobra.Command) (*running.Running, error) {
	in := cmd.InOrStdin()
	if r.nodes != folder.Stdin {
		file, err := os.Open(r.nodes)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	out, err := running.Parse(in)
	if err != nil {
		return nil, fmt.Errorf("--nodes %s: %w", r.nodes, err)
	}
	return out, nil
}

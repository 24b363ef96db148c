package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/text/wording"
)

func initCommand() *cobra.Command {
	var o config.InitOptions
	var out, key string
	cmd := &cobra.Command{
		Use:         "init [--name NAME] [--out FILE]",
		Annotations: term.Reads("out"),
		Short:       "Write a first cluster.yaml with comments",
		Long: `Write a first cluster.yaml with comments: into a new file, or to standard output.
Where REPLACE stands in it, write your own value and remove the word: kiln validate and
kiln render refuse what this command wrote there. --endpoint, --address and --ssh-key
write yours at once.

One control plane is for trying kiln: the API is away when it is changed, and its loss
is the loss of etcd. Three survive the loss of one.

For aws and hetzner, docs/walk-aws.md and docs/walk-hetzner.md lead from this file to
machines that are Ready, in a network that Terraform makes. For Debian on qemu,
docs/walk-qemu.md does, on a laptop; for Flatcar on metal, docs/walk-pxe.md, with
machines that boot from the network.`,
		Example: `  kiln init --name prod --address 10.0.0.11,10.0.0.21 --out cluster.yaml
  kiln init --os flatcar --platform metal --control-planes 3 --workers 5 --out cluster.yaml
  kiln init --os ubuntu --platform aws --control-planes 3 --workers 3 --out cluster.yaml`,
		Args: term.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if key != "" {
				line, _, err := folder.ReadGiven(key, maxKey)
				if err != nil {
					return err
				}
				o.SSHKey = strings.TrimSpace(string(line))
				if problem := config.SSHKeyProblem(o.SSHKey); problem != "" {
					return term.UsageErrorf("--ssh-key %s: %s", key, problem)
				}
			}
			content, err := firstConfig(o)
			if err != nil {
				return term.UsageError{Err: err}
			}
			if out == folder.Stdin || strings.HasSuffix(out, "/") {
				return term.UsageErrorf("--out %s: name a file", out)
			}
			if out == "" {
				_, err = cmd.OutOrStdout().Write(content)
				return err
			}
			err = folder.Create(out, content, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s is there already, and stays as it is; name another file", out)
			}
			if err != nil {
				return err
			}
			next := ""
			if bytes.Contains(content, []byte(config.Mark)) {
				next = "write your own value where it says REPLACE, then "
			}
			term.Printf(cmd.OutOrStdout(), "%s is written; next: %skiln validate %s\n",
				out, next, wording.ShellWord(out))
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Name, "name", "demo", "give the cluster this `NAME`")
	flags.StringVar(&out, "out", "", "write the new file `FILE`, and never over another one "+
		"(default: print the configuration)")
	flags.StringVar(&o.OS, "os", "ubuntu", "install this `SYSTEM` on the machines: "+
		strings.Join(target.SystemNames(nil), ", "))
	flags.StringVar(&o.Platform, "platform", "nocloud", "run the machines on this `PLATFORM`; "+
		"kiln platforms lists them")
	flags.StringVar(&o.Arch, "arch", "amd64", "run on this `PROCESSOR`: amd64 or arm64")
	flags.IntVar(&o.ControlPlanes, "control-planes", 1, "describe this `NUMBER` of control planes")
	flags.IntVar(&o.Workers, "workers", 1, "describe this `NUMBER` of workers")
	flags.StringVar(&o.Endpoint, "endpoint", "", "write this `HOST[:PORT]` of the load balancer "+
		"of the control planes (default: an example)")
	flags.StringSliceVar(&o.Addresses, "address", nil, "write these `ADDRESSES` of the machines, "+
		"those of the control planes first (default: examples)")
	flags.StringVar(&key, "ssh-key", "", "let the public key in this `FILE` log in (default: none)")
	flags.StringVar(&o.Pool, "pool", "", "add a pool of this `NAME`: workers that share one "+
		"document (default: none)")
	return cmd
}

// The most machines that kiln init writes. More members make etcd slow, and more workers are better
// a pool.
const (
	maxControlPlanes = 7
	maxWorkers       = 230
)

// maxKey is the size of the largest file with a public key, in bytes.
const maxKey = 64 << 10

// firstConfig returns a valid configuration. It fails if the flags describe none.
func firstConfig(o config.InitOptions) ([]byte, error) {
	if n := o.ControlPlanes; n < 1 || n > maxControlPlanes {
		return nil, fmt.Errorf("--control-planes %d: want 1 to %d", n, maxControlPlanes)
	}
	if n := o.ControlPlanes; n%2 == 0 {
		return nil, fmt.Errorf("--control-planes %d: the %[1]d members of etcd on them survive no "+
			"more failures than %d would; want an odd number, 1 to %d", n, n-1, maxControlPlanes)
	}
	if n := o.Workers; n < 0 || n > maxWorkers {
		return nil, fmt.Errorf("--workers %d: want 0 to %d", n, maxWorkers)
	}
	if n, all := len(o.Addresses), o.ControlPlanes+o.Workers; n > 0 && n != all {
		return nil, fmt.Errorf("--address: want an address of each of the %s, those of the "+
			"control planes first; got %d", wording.Count(all, "machine"), n)
	}
	content := config.Init(o)
	replaced := bytes.ReplaceAll(content, []byte(config.Mark), nil)
	_, err := config.Parse(term.DefaultConfig, replaced, nil)
	var problems config.Problems
	if !errors.As(err, &problems) {
		return content, err
	}
	errs := make([]error, len(problems))
	for i, p := range problems {
		flag := initFlags[p.Path]
		if strings.HasSuffix(p.Path, ".addresses[0]") {
			flag = "--address"
		}
		errs[i] = fmt.Errorf("%s: %s", cmp.Or(flag, p.Path), p.Message)
	}
	return nil, errors.Join(errs...)
}

// initFlags names the flag that sets a field.
var initFlags = map[string]string{
	"metadata.name": "--name", "endpoint": "--endpoint",
	"machines.os": "--os", "machines.platform": "--platform",
	"machines.arch": "--arch",
	"nodes":         "--control-planes", "pools[0].name": "--pool",
}

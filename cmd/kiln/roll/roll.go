// Package roll has the verb roll, which does what kiln plan says: it asks the cluster where it
// stands, does the first step that is left for one machine, and asks again.
package roll

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/apiserver"
	"kiln.dev/kiln/cmd/kiln/state"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/text/wording"
)

// usualTimeout is how long a command or a wait may take by default.
const usualTimeout = 15 * time.Minute

// maxInventory is how many bytes of an inventory are read.
const maxInventory = 64 << 20

type flags struct {
	states          state.Reader
	options         rollout.Options
	kubeconfig      string
	form            string
	done, skip      []string
	ssh, run        string // how a script gets to a machine
	replace, remove string // commands that make and destroy machines
	until           string
	pause, timeout  time.Duration
	dry             bool
}

// Command returns the verb roll.
func Command() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:         "roll A B [C ...]",
		Annotations: term.Reads(),
		Short:       "Do what kiln plan says, step by step, and stop where something is wrong",
		Long: `Do what kiln plan A B says, step by step: drain machines, change them in place or
have them replaced, wait until they are well, let them take pods again, apply and delete
API objects, set labels. The states are those of kiln plan; the last one is the folder of
documents that the machines get, and with several minors of Kubernetes each behind A is.
kiln asks the cluster where it stands before each machine. So the same command goes on
after a kill, on another computer, and after you did a step yourself.

It stops at the first thing that goes wrong, and says which machine, why, and what to do.
A Lease keeps a second kiln roll away. Only Nodes that it has cordoned itself take pods
again. It needs kubectl. A terminal gets lines of text, everything else lines of JSON,
unless -o says something else (docs/unattended.md).

In --ssh, --run, --replace and --remove, {node} stands for the name of the machine and
{address} for its address; in --replace, {document} stands for its folder of documents.`,
		Example: `  kiln roll main:review nodes --kubeconfig admin.conf --ssh root@{node} --dry-run
  kiln roll main:review nodes --kubeconfig admin.conf --ssh core@{address}
  kiln roll main:review nodes --kubeconfig admin.conf --run 'ssh {node} sudo sh' \
      --replace 'terraform apply -auto-approve -replace=module.{node}.vm'
  kiln roll v1.35:review nodes-1.36 nodes-1.37 --kubeconfig admin.conf --ssh root@{node}`,
		Args: term.TakeArgs(2, rollout.MaxStates, "two states or more, A and B",
			"kiln roll main:review nodes --kubeconfig admin.conf"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.begin(cmd, args)
		},
	}
	set := cmd.Flags()
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "reach the cluster with the kubeconfig in "+
		"`FILE` (default: the file that KUBECONFIG names, or ~/.kube/config)")
	set.StringVar(&f.ssh, "ssh", "", "change machines in place by ssh; `TARGET` is as ssh takes "+
		"it, such as core@{address}")
	set.StringVar(&f.run, "run", "", "change machines in place by `COMMAND`, which runs the "+
		"script on its standard input with sh, as root, on the machine")
	set.StringVar(&f.replace, "replace", "", "give a machine its document and an empty disk, and "+
		"power it on, by `COMMAND`")
	set.StringVar(&f.remove, "remove", "", "power a machine off for ever by `COMMAND`")
	set.BoolVar(&f.dry, "dry-run", false, "print the commands of all steps, and do nothing")
	set.StringVar(&f.options.MaxUnavailable, "max-unavailable", rollout.MaxUnavailable, "let "+
		"this `NUMBER` of workers be away together; a share such as 10% means at least one")
	term.DurationFlag(cmd, &f.pause, "pause-after", 0, "wait this `TIME` after each machine, and "+
		"look at the cluster again before the next one")
	set.StringVar(&f.until, "until", "", "end before `STEP`: a word of the plan such as replace, "+
		"or with a machine, such as replace:worker-3")
	set.StringSliceVar(&f.skip, "skip", nil, "leave out each `STEP`, a word of the plan such as "+
		"snapshot: you did it, or want none")
	term.DurationFlag(cmd, &f.timeout, "timeout", usualTimeout, "let a drain, a command or a "+
		"wait take this `TIME`")
	set.StringSliceVar(&f.done, "done", nil, "the machine with this `NAME` is as the last state "+
		"wants it, although no Node says so")
	set.StringSliceVar(&f.options.Force, "force", nil,
		"override the refusal with this `NAME`: "+strings.Join(rollout.Refusals(), ", "))
	term.OutputFlag(cmd, &f.form, "progress")
	set.Lookup("output").DefValue = "text on a terminal, else json"
	return cmd
}

// placeholder is a word in braces in a command of the user's.
var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// checkPlaceholders returns an error if a command has a word in braces that looks like one that
// kiln roll fills in, and is none.
func (f *flags) checkPlaceholders() error {
	all := []string{"node", "address", "document"}
	for _, c := range []struct {
		flag, text string
		filled     []string
	}{
		{"ssh", f.ssh, all[:2]}, {"run", f.run, all[:2]},
		{"replace", f.replace, all}, {"remove", f.remove, all[:2]},
	} {
		for _, m := range placeholder.FindAllStringSubmatch(c.text, -1) {
			if !slices.Contains(c.filled, m[1]) && wording.Nearest(m[1], all) != "" {
				return term.UsageErrorf("--%s %s: kiln roll fills in {%s} there, and not %s%s",
					c.flag, c.text, strings.Join(c.filled, "}, {"), m[0],
					wording.Hint(m[1], c.filled))
			}
		}
	}
	return nil
}

// check returns an error if flags are wrong or contradict each other, and completes them.
func (f *flags) check(cmd *cobra.Command) error {
	f.states.Messages = cmd.ErrOrStderr()
	if window, _ := term.Window(cmd.OutOrStdout()); window == nil && !f.dry &&
		!cmd.Flags().Changed("output") {
		f.form = "json"
	}
	word, _, _ := strings.Cut(f.until, ":")
	for i, word := range append([]string{word}, f.skip...) {
		if word != "" && !slices.Contains(rollout.Words(), word) {
			return term.UsageErrorf("--%s %s: no step is called so; there are %s",
				[]string{"until", "skip"}[min(i, 1)], word, strings.Join(rollout.Words(), ", "))
		}
	}
	switch {
	case f.ssh != "" && f.run != "":
		return term.UsageErrorf("--ssh and --run both say how to change a machine in place: " +
			"name one of them")
	case f.timeout < time.Second:
		return term.UsageErrorf("--timeout %s: write a time from 1s, such as %s", f.timeout,
			usualTimeout)
	case f.pause < 0:
		return term.UsageErrorf("--pause-after %s: want a time that is not negative", f.pause)
	}
	return cmp.Or(term.CheckSSH(f.ssh), f.checkPlaceholders())
}

// begin reads the states, takes the Lease, and rolls.
func (f *flags) begin(cmd *cobra.Command, args []string) (err error) {
	r := &roller{flags: f, log: &log{out: cmd.OutOrStdout(), json: f.form == "json"},
		claimed: map[string]bool{}}
	for _, arg := range args {
		s, err := f.states.Named(arg)
		if err != nil {
			return err
		}
		r.states = append(r.states, s)
	}
	last := args[len(args)-1]
	if r.states[len(args)-1].Documents == "" {
		return fmt.Errorf("%s: the last state is what the machines get: render it, and name the "+
			"folder of its documents, such as nodes", last)
	}
	inventory, err := folder.Read(filepath.Join(last, render.InventoryFile), maxInventory)
	if err != nil {
		return err
	}
	r.digestOfAll = fmt.Sprintf("%x", sha256.Sum256(inventory))
	if f.kubeconfig == "" {
		if f.kubeconfig, err = apiserver.DefaultPath(); err != nil {
			return err
		}
	}
	if r.client, err = apiserver.New(f.kubeconfig, cmd.ErrOrStderr()); err != nil {
		return err
	}
	if f.kubeconfig, err = filepath.Abs(f.kubeconfig); err != nil {
		return err
	}
	if r.kiln, err = os.Executable(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kiln-roll-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f.options.Scratch = dir + "/"
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM,
		syscall.SIGHUP)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // a closed standard output must not leave a file behind
	if f.dry {
		return r.print(ctx)
	}
	kubectl := &job{script: "command -v kubectl", silent: true}
	if r.runJob(ctx, kubectl) != nil {
		return errors.New("there is no program kubectl, with which kiln roll drains and applies")
	}
	if err = r.held(ctx); err != nil && r.log.json && !errors.Is(err, term.ErrDifferent) {
		r.log.say("failed", "", "", err.Error())
		return term.ReportedError{Err: err}
	}
	return err
}

// held rolls while it holds the Lease.
func (r *roller) held(ctx context.Context) error {
	var err error
	if r.lease, err = r.take(ctx); err != nil {
		return err
	}
	held, lost := context.WithCancelCause(ctx)
	go r.lease.keep(held, lost)
	if err = r.roll(held); held.Err() != nil {
		if err = errHeld; !errors.Is(context.Cause(held), errHeld) {
			err = errors.New("interrupted")
		}
		err = fmt.Errorf("%w; the same command goes on", err)
	}
	lost(nil)
	free, cancel := context.WithTimeout(context.Background(), renewTime)
	defer cancel()
	if failed := r.lease.renew(free, ""); failed != nil && !errors.Is(failed, errHeld) {
		r.log.say("wait", "", "", fmt.Sprintf("the Lease is free in %s: %v", leaseTime, failed))
	}
	return err
}

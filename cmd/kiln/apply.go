// This file has the verb of the same name, which gives a running machine its newer document.

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/state"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/fleet/verify"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

type applyFlags struct {
	states       state.Reader
	since, force []string
	way          way
	out, form    string
}

// applyReport is what -o json prints.
type applyReport struct {
	Machine string   `json:"machine"` // the folder
	Script  string   `json:"script,omitempty"`
	Said    []string `json:"said,omitempty"` // by the machine
	// Compared is what kiln verify says of the machine afterwards.
	Compared *verify.Report `json:"compared,omitempty"`
}

// applyCommand returns the verb apply.
func applyCommand() *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:         "apply MACHINE --since STATE",
		Annotations: term.Reads(),
		Short:       "Give a running machine its newer document, where no replacement is needed",
		Long: `Give a running machine its newer document, where no replacement is needed: files of
your own, kernel settings, registries, public keys, settings of the kubelet, flags of the
control plane, renewed certificates, releases of what it fetches. The verdict of kiln
plan is "live" or "restart" then. Afterwards the machine is as its document says, like one
that was replaced, and its Node names this document. MACHINE is a folder of documents,
such as nodes/worker-1, or nodes/pools/POOL for each machine of a pool.

--since names the state whose document the machine runs now. kiln compares the two, and
refuses what needs a replacement. The machine refuses too: a document that it does not
run, one of another machine, or one that differs where kiln does not write.

  --ssh TARGET   runs the program ssh with TARGET, and there a script as root: with
                 sudo -n, unless the user is root. ssh has your configuration, keys and
                 known hosts.
  --run COMMAND  does the same by a command of yours, a line for sh, such as ssh over
                 another host: it gets the script on standard input.
  --out FILE     writes this script, for a machine without a way in for ssh. It holds
                 contents of the document: keep it like the document, run it with sh, as
                 root, and remove it.

What reads a new file only when it starts is started again, and waited for. If it does
not come up, or something cuts the change off, the machine gets back what it had. A cut
connection does no harm. With --ssh and --run kiln verify follows, and what differs is a line and
exit code 3 (docs/live.md).

` + state.OneForms,
		Example: `  kiln apply nodes/worker-1 --since main:review --ssh root@10.0.0.21
  kiln apply nodes/pools/blue --since main:review --ssh core@blue-7
  kiln apply nodes/cp-1 --since review-before --out cp-1.sh`,
		Args: term.TakeArgs(1, 1, "a machine's folder",
			"kiln apply nodes/worker-1 --since main:review --ssh root@10.0.0.21"),
		RunE: func(cmd *cobra.Command, list []string) error { return f.run(cmd, list[0]) },
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if strings.Contains(err.Error(), "'f' in -f") { // as with kubectl apply
			return term.UsageErrorf("kiln apply takes a machine's folder, such as " +
				"nodes/worker-1, and has no -f")
		}
		return cmd.Root().FlagErrorFunc()(cmd, err)
	})
	flags, b := cmd.Flags(), &f.states.Bundle
	flags.StringArrayVar(&f.since, "since", nil, "the machine runs its document of this `STATE`; "+
		"may be repeated, if it is one of several")
	flags.StringArrayVar(&f.force, "force", nil, "change the machine although kiln plan refuses "+
		"the change for `NAME`; may be repeated")
	flags.StringVar(&f.way.run, "run", "", "change the machine by `COMMAND`, which runs the "+
		"script on its standard input with sh, as root, on the machine")
	flags.StringVar(&f.way.ssh, "ssh", "", "change the machine by ssh; `TARGET` is as ssh takes "+
		"it: a host, or USER@HOST")
	flags.StringVar(&f.out, "out", "", "write the script to `FILE`, and replace an older one there")
	flags.StringVar(&b.Secrets, "secrets", "", "read the bundle of a configuration from `FILE` "+
		"(default: the bundle beside it, or its public half)")
	vault.IdentityFlag(cmd, b)
	flags.StringVar(&b.Public, "public", "", "read the public half of the bundle of a "+
		"configuration from `FILE` (default: the bundle, or NAME.public.yaml, beside it)")
	term.OutputFlag(cmd, &f.form, "report")
	return cmd
}

// check returns an error if the flags are wrong or contradict each other, and completes them.
func (f *applyFlags) check(cmd *cobra.Command) error {
	f.states.Messages = cmd.ErrOrStderr()
	ways := 0
	for _, way := range []string{f.way.ssh, f.way.run, f.out} {
		if way != "" {
			ways++
		}
	}
	switch {
	case len(f.since) == 0:
		return term.UsageErrorf("--since is missing: name the state whose document the machine " +
			"runs, such as main:review")
	case ways != 1:
		return term.UsageErrorf("say how to reach the machine: with one of --ssh TARGET, " +
			"--run COMMAND and --out FILE")
	case f.out == "-":
		return term.UsageErrorf("--out -: the script holds secrets, which are never printed; " +
			"name a file")
	}
	if err := term.CheckSSH(f.way.ssh); err != nil {
		return err
	}
	if err := vault.CheckSource(&f.states.Bundle); err != nil || f.out == "" {
		return err
	}
	return vault.CheckOutside("out", f.out)
}

func (f *applyFlags) run(cmd *cobra.Command, machine string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	c, err := f.change(cmd, machine)
	if c == nil && f.out != "" && !term.AbsentPath(f.out) {
		term.Notes(cmd.ErrOrStderr(), []string{f.out +
			": an older script, which is not of this change and holds secrets; remove it"})
	}
	switch {
	case err != nil:
		return err
	case c == nil:
		said := "the change is one of other machines; nothing to do"
		if f.form == "json" {
			return term.JSON(cmd.OutOrStdout(), applyReport{Machine: machine, Said: []string{said}})
		}
		term.Printf(cmd.OutOrStdout(), "%s: %s\n", machine, said)
		return nil
	}
	program, err := verify.Program(c)
	if err != nil {
		return fmt.Errorf("%s: %w", machine, err)
	}
	if f.out != "" {
		return f.write(cmd, machine, program)
	}
	list, err := verify.Script(c.Node)
	if err != nil {
		return fmt.Errorf("%s: %w", machine, err)
	}
	text, err := runRemote(f.way, program, maxReport,
		"use --out, and run the script on the machine")
	if f.form == "text" {
		term.Printf(cmd.OutOrStdout(), "%s", text)
	}
	said := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	r := applyReport{Machine: machine, Said: said}
	var ended *remoteEnded
	isLeft := errors.As(err, &ended) && ended.Code == left
	switch isDone := doneWord.Match(text); {
	case isDone && (err == nil || isLeft):
		if r.Compared, err = f.compare(list, c.Node); err != nil {
			err = fmt.Errorf("%s has its newer document, and could not be compared with it: %w",
				machine, err)
		}
	case err == nil:
		err = fmt.Errorf("%s: it did not run the program: it does not say how many files it "+
			"wrote", f.way)
	}
	if f.form == "json" && (err == nil || len(text) > 0) {
		if err := term.JSON(cmd.OutOrStdout(), r); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if f.form == "text" {
		tellStep(cmd.OutOrStdout(), machine, r.Compared)
	}
	if isLeft || !r.Compared.Same() {
		return term.ErrDifferent
	}
	return nil
}

// compare compares the machine with its newer document, as kiln verify does. list is the program
// for that.
func (f *applyFlags) compare(list string, n *node.Node) (*verify.Report, error) {
	text, err := runRemote(f.way, list, verify.MaxListing, "give kiln verify a listing")
	if err != nil {
		return nil, err
	}
	listing, err := verify.Parse(n, text)
	if err != nil {
		return nil, err
	}
	return verify.Compare(n, listing), nil
}

// doneWord is the line of a machine that has its newer document.
var doneWord = regexp.MustCompile(`(?m)^files written: [0-9]+$`)

const (
	// maxReport is how many bytes a machine may say.
	maxReport = 1 << 20
	// left is the status of a program that leaves something to a person.
	left = 3
)

// change returns the change of the machine whose documents lie in that folder, or nil if the states
// of --since differ from the documents in other machines alone. It fails if no state of --since has
// the machine, or if each needs a replacement.
func (f *applyFlags) change(cmd *cobra.Command, machine string) (*verify.Change, error) {
	dir, name, pool := splitMachineFolder(machine)
	if term.AbsentPath(filepath.Join(dir, render.InventoryFile)) {
		return nil, fmt.Errorf("%s: name the folder of a machine, such as nodes/worker-1, "+
			"beside which is %s; kiln render --out makes both", machine, render.InventoryFile)
	}
	now, err := render.DocumentsState(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", machine, err)
	}
	u, err := render.Unpack(machine, "", cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	if b := u.Missing(); b != nil {
		return nil, fmt.Errorf("%s: this is not all of the machine: it fetches the rest from %s, "+
			"and the rest is not here", machine, b.URL)
	}
	c := &verify.Change{Node: u.Node()}
	untouched := false // the change is one of other machines
	var failed []error // why a state of --since does not count
	for _, arg := range f.since {
		old, err := f.states.Read(arg)
		if err != nil {
			return nil, err
		}
		d := change.Compare(old, now)
		p, err := f.pair(c, d, name, pool)
		switch {
		case err == nil && len(p.Changes) == 0 && d.Changed():
			untouched = true
		case err == nil && len(p.Changes) == 0:
			failed = append(failed, fmt.Errorf("%s: %s is the document of this state already; "+
				"name the one from before its render: a copy, or a revision such as HEAD~:review; "+
				"or render the change first, with --out", arg, machine))
		case err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", arg, err))
		default:
			c.Pairs = append(c.Pairs, p)
		}
	}
	switch {
	case len(c.Pairs) > 0:
	case untouched && len(failed) == 0:
		return nil, nil
	default:
		return nil, errors.Join(failed...)
	}
	for _, err := range failed {
		term.Notes(cmd.ErrOrStderr(), []string{err.Error()})
	}
	return c, nil
}

// splitMachineFolder returns the folder of documents that a machine's folder lies in, the machine's
// name, and whether it is a pool.
func splitMachineFolder(machine string) (dir, name string, pool bool) {
	dir, name = filepath.Split(filepath.Clean(machine))
	dir = filepath.Clean(dir)
	if filepath.Base(dir) != "pools" || !term.AbsentPath(filepath.Join(dir, render.InventoryFile)) {
		return dir, name, false
	}
	return filepath.Dir(dir), name, true
}

// pair returns the machine of a name in both states of a difference, and adds to c what its change
// asks for. It fails if the machine is not in both, or needs a replacement.
func (f *applyFlags) pair(
	c *verify.Change, d *change.Diff, name string, pool bool,
) (*change.Pair, error) {
	pairs := d.Pairs()
	i := slices.IndexFunc(pairs, func(p *change.Pair) bool {
		return p.New != nil && p.New.Name == name && p.New.Pool == pool
	})
	switch {
	case i < 0:
		return nil, fmt.Errorf("the documents have no machine %q", name)
	case pairs[i].Old == nil:
		return nil, fmt.Errorf("this state has no machine %q; name the one that it runs", name)
	}
	restarts, commands, err := rollout.Applicable(d, pairs[i], f.force)
	c.Restarts, c.Commands = append(c.Restarts, restarts...), append(c.Commands, commands...)
	return pairs[i], err
}

// write writes the program to --out.
func (f *applyFlags) write(cmd *cobra.Command, machine, program string) error {
	if err := render.WriteProgram(f.out, program, verify.IsProgram); err != nil {
		return err
	}
	term.Notes(cmd.ErrOrStderr(),
		vault.KeepOutOfGit(filepath.Dir(f.out), vault.SecretFile{Name: f.out}))
	if f.form == "json" {
		return term.JSON(cmd.OutOrStdout(), applyReport{Machine: machine, Script: f.out})
	}
	term.Printf(cmd.OutOrStdout(), "%s: holds secrets; on the machine, as root: sh %s; then "+
		"remove it, and compare the machine with its document (docs/verify.md)\n", f.out,
		wording.ShellWord(filepath.Base(f.out)))
	return nil
}

// This file has the verb of the same name, which compares a running machine with its document.

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/fleet/verify"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/text/wording"
)

type verifyFlags struct {
	ssh, listing, body, form string
	script                   bool
}

// verifyCommand returns the verb verify.
func verifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:         "verify DOCUMENT",
		Annotations: term.Reads(),
		Short:       "Compare a running machine with its document, and name what differs",
		Long: `Compare a running machine with its document, and name what differs: files, folders
and links that are missing or changed or have another mode or owner, units that are
masked or disabled or set by another file, static pods that are not in the document, and
credentials that should be gone. DOCUMENT is a machine's folder, such as nodes/cp-1, or
its config.ign or user-data. kiln changes nothing on the machine.

  --ssh TARGET     runs the program ssh with TARGET, and there a script as root: with
                   sudo -n, unless the user is root. ssh has your configuration, keys and
                   known hosts.
  --script         prints this script, for a machine without a way in for ssh. It holds
                   paths and no secret. Run it with sh, as root, and give its output to
  --listing FILE   on your computer. The output has a SHA-256 of each file, secrets too:
                   whoever reads it can try out guesses of a weak password in one of your
                   files. Keep it like the document, and remove it.

The machine answers for itself: who has its kernel can make it say that nothing differs
(docs/verify.md).`,
		Example: `  kiln verify nodes/cp-1 --ssh root@10.0.0.11
  kiln verify nodes/worker-1 --ssh core@worker-1 -o json
  kiln verify nodes/cp-1 --script > cp-1.sh
  kiln verify nodes/cp-1 --listing cp-1.listing`,
		Args: term.TakeArgs(1, 1, "a DOCUMENT or a machine's folder",
			"kiln verify nodes/cp-1 --ssh root@10.0.0.11"),
		RunE: func(cmd *cobra.Command, list []string) error { return f.run(cmd, list[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.ssh, "ssh", "", "ask the machine by ssh; `TARGET` is as ssh takes it: "+
		"a host, or USER@HOST")
	flags.StringVar(&f.listing, "listing", "", "read what the script printed from `FILE`, or "+
		"from standard input if it is -")
	flags.BoolVar(&f.script, "script", false, "print the script for the machine")
	flags.StringVar(&f.body, "body", "", "read the body, which the machine fetches, from `FILE` "+
		"(default: the body beside the document, if it is there)")
	term.OutputFlag(cmd, &f.form, "report")
	return cmd
}

// check returns an error if flags are wrong or contradict each other.
func (f *verifyFlags) check(cmd *cobra.Command, document string) error {
	ways := 0
	for _, name := range []string{"ssh", "listing", "script"} {
		if cmd.Flags().Changed(name) {
			ways++
		}
	}
	switch {
	case ways != 1:
		return term.UsageErrorf("say how to ask the machine, with one of --ssh TARGET, --script " +
			"and --listing FILE")
	case f.ssh+f.listing == "" && !f.script:
		return term.UsageErrorf("--ssh and --listing need a value: a machine, or a file")
	case f.script && f.form == "json":
		return term.UsageErrorf("--script prints a program; leave -o json out")
	case document == "-" && f.listing == "-":
		return term.UsageErrorf("standard input is the document or the listing; name a file for " +
			"one")
	}
	return term.CheckSSH(f.ssh)
}

func (f *verifyFlags) run(cmd *cobra.Command, document string) error {
	if err := f.check(cmd, document); err != nil {
		return err
	}
	u, err := render.Unpack(document, f.body, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if b := u.Missing(); b != nil {
		return fmt.Errorf("%s: this is not all of the machine: it fetches the rest from %s, and "+
			"the rest is not here; name its file with --body", document, b.URL)
	}
	n := u.Node()
	program, err := verify.Script(n)
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	if f.script {
		_, err := io.WriteString(term.Raw(cmd.OutOrStdout(), false), program)
		return err
	}
	text, err := f.read(cmd, program)
	if err != nil {
		return err
	}
	listing, err := verify.Parse(n, text)
	if err != nil {
		return err
	}
	report := verify.Compare(n, listing)
	if f.form == "json" {
		err = term.JSON(cmd.OutOrStdout(), report)
	} else {
		tellStep(cmd.OutOrStdout(), document, report)
	}
	if err == nil && !report.Same() {
		return term.ErrDifferent
	}
	return err
}

// read returns the machine's listing.
func (f *verifyFlags) read(cmd *cobra.Command, program string) ([]byte, error) {
	switch f.listing {
	case "":
		return runRemote(way{ssh: f.ssh}, program, verify.MaxListing, "run the script of --script "+
			"on the machine, and read what it prints with --listing")
	case "-":
		return folder.ReadUpTo("standard input", cmd.InOrStdin(), verify.MaxListing)
	}
	return folder.Read(f.listing, verify.MaxListing)
}

// tellStep prints a report for people.
func tellStep(w io.Writer, document string, r *verify.Report) {
	if r.Other {
		term.Printf(w, "The machine was made from another document than %s.\n"+
			"It may be an older one, a newer one, or that of another machine: which cannot be "+
			"seen.\n", document)
	}
	for _, f := range r.Findings {
		term.Printf(w, "%s: %s\n", f.Object, f.How)
	}
	verdict := "no differences"
	switch {
	case len(r.Findings) > 0:
		verdict = wording.Count(len(r.Findings), "difference")
	case r.Other:
		verdict = "no other differences"
	}
	term.Printf(w, "%s; %d files, folders, links and units compared\n", verdict, r.Compared)
	if !r.Done {
		term.Printf(w, "Its first boot is not done.\n")
	}
}

// Package upkeep holds the verbs for the years after a cluster was formed: they renew what ends,
// give people access, and encrypt the bundle.
package upkeep

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// renewFlags are the flags of kiln secrets renew.
type renewFlags struct {
	config   folder.Input
	bundle   vault.Source
	machines []string
	form     string
}

// RenewCommand returns the verb that moves the dates of leaf certificates.
func RenewCommand() *cobra.Command {
	var f renewFlags
	cmd := &cobra.Command{
		Use:   "renew [CONFIG] [--machine NAME]...",
		Short: "Let the machines' certificates begin a new life",
		Long: `Let the certificates of all machines, or of the named ones, live for
certificates.lifetime from now on. Only dates in the bundle change: CAs, keys, the
formation deadline and the install credential stay as they are. Render again after it.

Machines that run keep the certificates that they have until they get their newer
documents. kiln plan has the steps, and the day before which each machine needs them.

A machine that you add or replace late in the cluster's year gets a whole life with
--machine. Only its own document changes.`,
		Example: `  kiln secrets renew prod.yaml
  kiln secrets renew prod.yaml --machine worker-7`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	term.TakeConfig(cmd, &f.config)
	vault.ChangeBundleFlags(cmd, &f.bundle)
	cmd.Flags().StringSliceVar(&f.machines, "machine", nil,
		"renew the certificates of the machine with this `NAME` alone; may be repeated")
	term.OutputFlag(cmd, &f.form, "new dates")
	return cmd
}

// renewed is the report of kiln secrets renew.
type renewed struct {
	Bundle   string    `json:"bundle"`
	Renewed  time.Time `json:"renewed"`
	Machines []ending  `json:"machines"`
}

// ending is a machine with the end of its certificates.
type ending struct {
	Name string    `json:"name"`
	Ends time.Time `json:"ends"`
}

func (f *renewFlags) run(cmd *cobra.Command) error {
	c, err := render.ConfigPublic(&f.config)
	if err != nil {
		return err
	}
	p := plan.New(c)
	if err := checkMachines(p, f.machines); err != nil {
		return err
	}
	b, err := f.bundle.ToChange(f.config.Path, c, "renew")
	if err != nil {
		return err
	}
	elsewhere, err := signedElsewhere(b, p, f.machines)
	if err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Second)
	if err := b.Public.Renew(now, f.machines...); err != nil {
		return fmt.Errorf("%s: %w", b.Path, err)
	}
	if err := b.Replace(); err != nil {
		return err
	}
	report := renewed{Bundle: b.Path, Renewed: now, Machines: []ending{}}
	for _, d := range render.Ends(p, &b.Public) {
		if !d.Pool && (len(f.machines) == 0 || slices.Contains(f.machines, d.Machine)) {
			report.Machines = append(report.Machines, ending{d.Machine, d.Until})
		}
	}
	term.Notes(cmd.ErrOrStderr(), append(notes(f.config.Path, c, b, f.machines), elsewhere...))
	if f.form == "json" {
		return term.Report(cmd.OutOrStdout(), report)
	}
	report.print(cmd.OutOrStdout())
	return nil
}

// notes returns what the operator has to know beside the new dates.
func notes(path string, c *config.Cluster, b *vault.File, machines []string) (list []string) {
	lifetime := time.Duration(c.Spec.Certificates.Lifetime)
	if end := b.AuthoritiesEnd(); b.Capped(lifetime, append(machines, "")[0]) {
		list = append(list, fmt.Sprintf("no certificate outlives its CA: these end on %s at the "+
			"latest, and not %s from now. Rotate the CAs before that day: kiln secrets rotate "+
			"(docs/rotation.md)", end.Format(time.DateOnly),
			config.Duration(lifetime)))
	}
	return append(list, b.StaleNotes(path)...)
}

// signedElsewhere returns a note if CAs sign some certificates of the machines whose keys are not
// in the bundle: no date of the bundle moves their ends. It returns an error if that holds for all
// of them.
func signedElsewhere(b *vault.File, p *plan.Plan, machines []string) (list []string, err error) {
	own, others := 0, 0
	for i := range p.Machines {
		m := &p.Machines[i]
		if len(machines) > 0 && !slices.Contains(machines, m.Name) {
			continue
		}
		for _, spec := range b.Specs(p, m) {
			if b.Lacks(spec.Signer) {
				others++
			} else {
				own++
			}
		}
	}
	const how = "kiln certs csr --within TIME writes new requests for what CAs sign whose keys " +
		"are not in the bundle (docs/external-ca.md)"
	switch {
	case others == 0:
		return nil, nil
	case own == 0:
		return nil, fmt.Errorf("%s: kiln renews none of these certificates, because CAs sign them "+
			"whose keys are elsewhere: %s", b.Path, how)
	}
	return []string{how}, nil
}

func (r *renewed) print(w io.Writer) {
	if len(r.Machines) == 0 {
		term.Printf(w, "%s: renewed; render again\n", r.Bundle)
		return
	}
	var names []string
	for _, m := range r.Machines {
		names = append(names, m.Name)
	}
	sorted := slices.SortedFunc(slices.Values(r.Machines),
		func(a, b ending) int { return a.Ends.Compare(b.Ends) })
	term.Printf(w, "%s: the new certificates of %s end %s; render again, and follow kiln plan "+
		"before those end that the machines have\n", r.Bundle, change.DocumentNames(names),
		change.Span(sorted[0].Ends, sorted[len(sorted)-1].Ends))
}

// checkMachines returns an error for each name that is not a machine whose document has
// certificates.
func checkMachines(p *plan.Plan, names []string) error {
	var wrong, known []string
	pools := map[string]bool{}
	for i := range p.Machines {
		if m := &p.Machines[i]; m.Pool {
			pools[m.Name] = true
		} else {
			known = append(known, m.Name)
		}
	}
	for _, name := range names {
		switch {
		case slices.Contains(known, name):
		case pools[name]:
			wrong = append(wrong, fmt.Sprintf("--machine %s: this is a pool; its document has a "+
				"bootstrap token and no certificates", name))
		default:
			wrong = append(wrong, fmt.Sprintf("--machine %s: the configuration has no machine "+
				"with this name%s", name, wording.Hint(name, known)))
		}
	}
	if len(wrong) > 0 {
		return term.UsageErrorf("%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// This file is kiln secrets rotate: it takes roots of a bundle from stage to stage, and says
// what people have to do in between. Package rotation has the words about each root, and package
// pki the stages.

package upkeep

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/rotation"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// rotateFlags holds the flags of kiln secrets rotate.
type rotateFlags struct {
	config folder.Input
	bundle vault.Source
	form   string
	next   bool
	back   bool
	now    bool
	status bool
	// replaced is the word of a person that every machine runs the present stage.
	replaced bool
	roots    []pki.Root
}

// RotateCommand returns the verb kiln secrets rotate.
func RotateCommand() *cobra.Command {
	var f rotateFlags
	cmd := &cobra.Command{
		Use:         "rotate ROOT... [--next --all-replaced | --back | --now]",
		Annotations: term.ReadsWith("status"),
		Short:       "Replace a CA, a key or the seed, while the cluster runs",
		Long: `Replace roots of the bundle by new ones, in stages. In each stage machines of the
stage before and of the stage after can talk to each other, so that they are
replaced one by one:

  trust   both roots are trusted, and the old one signs, or writes
  issue   both roots are trusted, and the new one signs, or writes
  drop    the new one alone

The roots are ca, etcd-ca, front-proxy-ca, service-account, encryption, and
leaf-seed, which has one step. Without a flag a rotation begins, with the stage
trust. --next takes it to the next stage, when every machine runs the present one.
Several roots may go together, and with an upgrade that replaces the machines
anyway. After each step: kiln render, kiln plan, and replace what it names.

docs/rotation.md has the whole way.`,
		Example: `  kiln secrets rotate ca etcd-ca
  kiln secrets rotate ca etcd-ca --next --all-replaced
  kiln secrets rotate ca --back
  kiln secrets rotate --status`,
		Args: func(_ *cobra.Command, list []string) error { return f.take(list) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if err := term.FindConfig(cmd, &f.config); err != nil {
				return err
			}
			return f.run(cmd)
		},
	}
	term.ConfigFlag(cmd, &f.config)
	set := cmd.Flags()
	vault.ChangeBundleFlags(cmd, &f.bundle)
	set.BoolVar(&f.next, "next", false, "go to the next stage; wants --all-replaced")
	set.BoolVar(&f.replaced, "all-replaced", false,
		"say that every machine runs the present stage: kiln cannot see it")
	set.BoolVar(&f.back, "back", false, "go back by one stage; from trust it wants --all-replaced")
	set.BoolVar(&f.now, "now", false,
		"the root was stolen: begin, and print the three passes and until when it is of use")
	set.BoolVar(&f.status, "status", false, "print the stage of every root, and change nothing")
	term.OutputFlag(cmd, &f.form, "roots")
	return cmd
}

// kubeadmNames are the roots by the names of their files in a pki folder of kubeadm.
var kubeadmNames = map[string]pki.Root{
	"sa": pki.RootServiceAccount, "etcd": pki.RootEtcdCA, "front-proxy": pki.RootFrontProxyCA,
}

// take reads the names of roots. It fails for a name that is none, and for one that comes twice.
func (f *rotateFlags) take(list []string) error {
	var names []string
	for _, r := range pki.Roots() {
		names = append(names, string(r))
	}
	var errs []error
	for _, name := range list {
		switch root := pki.Root(name); {
		case !slices.Contains(names, name):
			meant := cmp.Or(string(kubeadmNames[name]), name)
			errs = append(errs, fmt.Errorf("%q is no root; want %s%s", name,
				strings.Join(names, ", "), wording.Hint(meant, names)))
		case slices.Contains(f.roots, root):
			errs = append(errs, fmt.Errorf("%s: named twice", name))
		default:
			f.roots = append(f.roots, root)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return term.UsageError{Err: err}
	}
	return nil
}

// check returns an error if the flags contradict each other.
func (f *rotateFlags) check() error {
	var ways []string
	for _, way := range []struct {
		name string
		set  bool
	}{{"--next", f.next}, {"--back", f.back}, {"--now", f.now}, {"--status", f.status}} {
		if way.set {
			ways = append(ways, way.name)
		}
	}
	switch {
	case len(ways) > 1:
		return term.UsageErrorf("%s: name one of them", strings.Join(ways, " and "))
	case f.replaced && !f.next && !f.back:
		return term.UsageErrorf("--all-replaced goes with --next or --back")
	case len(f.roots) == 0 && !f.status:
		return term.UsageErrorf("name a root; for example: kiln secrets rotate ca. " +
			"kiln secrets rotate --status lists them")
	}
	return nil
}

func (f *rotateFlags) run(cmd *cobra.Command) error {
	c, err := render.ConfigPublic(&f.config)
	if err != nil {
		return err
	}
	p := plan.New(c)
	if f.status {
		half, _, err := f.bundle.Half(f.config.Path, c.Metadata.Name)
		if err != nil {
			return err
		}
		return f.printStatus(cmd.OutOrStdout(), p, half)
	}
	b, err := f.bundle.ToChange(f.config.Path, c, "rotate")
	if err != nil {
		return err
	}
	lifetime := time.Duration(c.Spec.Certificates.CALifetime)
	if err := f.change(b.Bundle, p, time.Now(), lifetime); err != nil {
		return err
	}
	if err := b.Replace(); err != nil {
		return err
	}
	return f.printChanged(cmd, p, b)
}

// change takes every root one step, and collects what does not allow it. A new CA lives for
// lifetime.
func (f *rotateFlags) change(
	b *pki.Bundle, p *plan.Plan, now time.Time, lifetime time.Duration,
) error {
	var errs []error
	for _, root := range f.roots {
		stage := b.Rotation(root).Stage
		machines := change.Names(concerned(p, root))
		var err error
		switch {
		case f.next && stage != pki.Settled && !f.replaced:
			err = fmt.Errorf("%s: a machine that does not run the stage %s yet would be cut off: "+
				"%s; when all run it, say so with --all-replaced", root, stage, machines)
		case f.back && stage == pki.Trust && !f.replaced:
			err = fmt.Errorf("%s: the new root would be forgotten, and a machine that still runs "+
				"the stage issue would be cut off: %s; when none does, say so with --all-replaced",
				root, machines)
		case f.next:
			err = b.NextStage(root, now)
		case f.back:
			err = b.PreviousStage(root, now)
		case f.now && stage != pki.Settled:
			// It goes on from where it is.
		default:
			err = b.Rotate(root, now, lifetime)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// printStatus prints the state of the named roots, or of all.
func (f *rotateFlags) printStatus(w io.Writer, p *plan.Plan, half *pki.Public) error {
	r := rotateReport{}
	for _, root := range pki.Roots() {
		if len(f.roots) == 0 || slices.Contains(f.roots, root) {
			r.Roots = append(r.Roots, stateOf(p, half, root))
		}
	}
	if f.form == "json" {
		return term.JSON(w, r)
	}
	writeStatus(w, r.Roots)
	return nil
}

// printChanged prints what was done, and what to do next.
func (f *rotateFlags) printChanged(cmd *cobra.Command, p *plan.Plan, b *vault.File) error {
	r := rotateReport{Bundle: b.Path}
	for _, root := range f.roots {
		s := stateOf(p, &b.Public, root)
		if f.now {
			s.Exposure = rotation.Exposure(root)
		}
		if f.back && s.Stage == pki.Settled {
			s.Means, s.First, s.Left = "the new root is forgotten", nil, nil
		}
		r.Roots = append(r.Roots, s)
	}
	term.Notes(cmd.ErrOrStderr(), b.StaleNotes(f.config.Path))
	if len(b.External.Roots) > 0 && slices.Contains(f.roots, pki.RootLeafSeed) {
		term.Notes(cmd.ErrOrStderr(), []string{"what CAs have signed whose keys are not in " +
			"the bundle is for the old keys: kiln certs csr writes new requests " +
			"(docs/external-ca.md)"})
	}
	if f.form == "json" {
		return term.Report(cmd.OutOrStdout(), r)
	}
	writeChanged(cmd.OutOrStdout(), f.config.Path, &r)
	if f.now {
		writeLeak(cmd.OutOrStdout(), &r)
	}
	return nil
}

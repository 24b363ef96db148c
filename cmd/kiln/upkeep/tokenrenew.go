package upkeep

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
)

// renewTokenFlags are the flags of kiln token renew.
type renewTokenFlags struct {
	tokenFlags
	revoke bool
}

func renewTokenCommand() *cobra.Command {
	var f renewTokenFlags
	cmd := &cobra.Command{
		Use:   "renew POOL...",
		Short: "Give pools a new bootstrap token",
		Long: `Give each pool a new bootstrap token, which lives for the pool's tokenLifetime from
now on. Only the bundle changes. The report has the commands that tell the cluster.

The token before it stays valid until its own end, so that machines that have the
pool's old document may still join. A token that has ended is not kept.

--revoke keeps none, because a token has leaked. The cluster accepts the old token until
its Secret is deleted: the report has the command.`,
		Example: `  kiln token renew blue --config prod.yaml
  kiln token renew blue green
  kiln token renew blue --revoke`,
		RunE: func(cmd *cobra.Command, list []string) error { return f.run(cmd, list) },
	}
	f.takePools(cmd, 0, "a pool")
	vault.ChangeBundleFlags(cmd, &f.bundle)
	cmd.Flags().BoolVar(&f.revoke, "revoke", false,
		"the old token has leaked: keep it in no document")
	term.OutputFlag(cmd, &f.form, "new tokens")
	return cmd
}

// renewedTokens is the report of kiln token renew.
type renewedTokens struct {
	Bundle  string    `json:"bundle"`
	Renewed time.Time `json:"renewed"`
	Tokens  []token   `json:"tokens"`
	Delete  []string  `json:"delete"` // commands that take old tokens away
	Apply   []string  `json:"apply"`  // commands that tell the cluster of new tokens
}

func (f *renewTokenFlags) run(cmd *cobra.Command, names []string) error {
	c, err := render.ConfigPublic(&f.config)
	if err != nil {
		return err
	}
	list, err := pools(plan.New(c), cmd.CommandPath(), names)
	if err != nil {
		return err
	}
	b, err := f.bundle.ToChange(f.config.Path, c, "renew")
	if err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Second)
	report := renewedTokens{Bundle: b.Path, Renewed: now, Delete: []string{}}
	for _, m := range list {
		if f.revoke {
			report.Delete = append(report.Delete, "kubectl -n kube-system delete secret "+
				"--ignore-not-found "+strings.Join(secretNames(b.Bundle, m), " "))
		}
	}
	if r := b.Rotation(pki.RootLeafSeed); f.revoke && r.Generation > 1 {
		report.Delete = append(report.Delete, "kubectl -n kube-system get secrets "+
			"--field-selector type=bootstrap.kubernetes.io/token  "+
			"# tokens of the leaf seed before "+r.Since.Format(time.DateOnly)+
			" have names that nobody can derive any more: delete each that nobody needs")
	}
	if err := b.RenewTokens(now, f.revoke, list...); err != nil {
		return fmt.Errorf("%s: %w", b.Path, err)
	}
	if err := b.Replace(); err != nil {
		return err
	}
	for _, m := range list {
		report.Tokens = append(report.Tokens, tokensOf(b.Bundle, m, now)...)
		report.Apply = append(report.Apply, f.applyCommands(b, m)...)
	}
	term.Notes(cmd.ErrOrStderr(), b.StaleNotes(f.config.Path))
	if f.form == "json" {
		return term.Report(cmd.OutOrStdout(), report)
	}
	report.print(cmd.OutOrStdout())
	return nil
}

// secretNames returns the names of the Secrets of m's tokens that the cluster may have: of the last
// generations, since a pool may have been renewed several times within the life of a token.
func secretNames(b *pki.Bundle, m *plan.Machine) (names []string) {
	const most = 10
	for g := b.Generation(pki.TokenName(m.Name)); g > 0 && len(names) < most; g-- {
		t := b.Joined(pki.Joining{Pool: m.Name, Generation: g})
		names = append(names, "bootstrap-token-"+t.ID)
	}
	return names
}

// applyCommands returns the commands that tell the cluster of m's new token.
func (f *tokenFlags) applyCommands(b *vault.File, m *plan.Machine) []string {
	make := "kiln token manifest " + m.Name + " --config " + wording.ShellWord(f.config.Path)
	if f.bundle.Secrets != "" {
		make += " --secrets " + wording.ShellWord(b.Path)
	}
	file := m.Name + "-token.yaml"
	return append([]string{make + " --out " + file}, applyManifest(file)...)
}

// applyManifest returns the commands that apply a file with the Secret of a token.
func applyManifest(file string) []string {
	file = wording.ShellWord(file)
	return []string{"kubectl apply --server-side --force-conflicts -f " + file, "rm " + file}
}

func (r *renewedTokens) print(w io.Writer) {
	for _, t := range r.Tokens {
		if t.Previous {
			term.Printf(w, "  machines may join with the token before it until %s\n",
				t.Ends.Format(time.RFC3339))
			continue
		}
		term.Printf(w, "%s: pool %s has a new bootstrap token, until %s\n", r.Bundle, t.Name,
			t.Ends.Format(time.RFC3339))
	}
	if len(r.Delete) > 0 {
		term.Printf(w, "whoever has the old token can join until its Secret is deleted; now:\n")
		term.Each(w, "  %s\n", r.Delete)
	}
	term.Printf(w, "a running cluster accepts the new token when it has its Secret:\n")
	term.Each(w, "  %s\n", r.Apply)
	term.Printf(w, "then render again, and give new machines the pool's new document\n")
}

package upkeep

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
)

// TokenCommand returns the verbs for the bootstrap tokens with which machines join.
func TokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Look after the bootstrap tokens of pools",
		Long: "Look after the bootstrap tokens with which the machines of pools join. " +
			"Each pool has its own.",
		Example: `  kiln token list prod.yaml
  kiln token renew blue --config prod.yaml
  kiln token manifest blue --config prod.yaml --out blue-token.yaml`,
		RunE: func(*cobra.Command, []string) error {
			return term.UsageErrorf("kiln token needs a verb; for example: " +
				"kiln token list prod.yaml")
		},
	}
	cmd.AddCommand(listCommand(), renewTokenCommand(), manifestCommand())
	return cmd
}

// tokenFlags are the flags that all verbs of kiln token have.
type tokenFlags struct {
	config folder.Input
	bundle vault.Source
	form   string
}

// open reads the configuration and its bundle.
func (f *tokenFlags) open(cmd *cobra.Command) (*plan.Plan, *vault.File, error) {
	c, err := render.ConfigPublic(&f.config)
	if err != nil {
		return nil, nil, err
	}
	b, err := f.bundle.OpenFor(f.config.Path, c)
	if err != nil {
		return nil, nil, err
	}
	return plan.New(c), b, nil
}

// takePools lets a verb take pools as its arguments, and the configuration with a flag.
func (f *tokenFlags) takePools(cmd *cobra.Command, most int, what string) {
	term.ConfigFlag(cmd, &f.config)
	example := cmd.Example[strings.Index(cmd.Example, "kiln"):]
	example, _, _ = strings.Cut(example, "\n")
	cmd.Args = term.TakeArgs(1, most, what, example)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if f.config.Path == "" && term.AbsentPath(term.DefaultConfig) {
			return term.UsageErrorf("--config is missing, and there is no %s in this folder; "+
				"name the configuration, for example: %s", term.DefaultConfig, example)
		}
		return term.FindConfig(cmd, &f.config)
	}
}

// token is a bootstrap token in a report. It has the public half of the token alone.
type token struct {
	Name       string    `json:"name"`
	ID         string    `json:"id"`
	Generation int       `json:"generation"`
	Ends       time.Time `json:"ends"`
	Previous   bool      `json:"previous"`
	Ended      bool      `json:"ended"`
}

// tokensOf returns the tokens with which machines may join the pool m, that in its document first.
func tokensOf(b *pki.Bundle, m *plan.Machine, now time.Time) (all []token) {
	for _, j := range b.Joining(m) {
		t := token{
			Name: m.Name, ID: b.Joined(j).ID, Generation: j.Generation,
			Ends: j.Ends, Previous: j.Previous, Ended: !now.Before(j.Ends),
		}
		all = append(all, t)
	}
	return all
}

func listCommand() *cobra.Command {
	var f tokenFlags
	cmd := &cobra.Command{
		Use:         "list [CONFIG]",
		Annotations: term.Reads(),
		Short:       "List the bootstrap tokens of pools",
		Long: `List the bootstrap tokens with which machines may join: pool, public ID, generation,
and when each ends. A renewed pool has two of them until the previous one ends. No
secret half is ever printed. The cluster is not asked: it has a new token when you
have applied its Secret.`,
		Example: `  kiln token list prod.yaml
  kiln token list prod.yaml -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, b, err := f.open(cmd)
			if err != nil {
				return err
			}
			all := []token{}
			for i := range p.Machines {
				if m := &p.Machines[i]; m.Pool {
					all = append(all, tokensOf(b.Bundle, m, time.Now())...)
				}
			}
			if f.form == "json" {
				return term.Report(cmd.OutOrStdout(), struct {
					Bundle string  `json:"bundle"`
					Tokens []token `json:"tokens"`
				}{b.Path, all})
			}
			if len(all) == 0 {
				term.Notes(cmd.ErrOrStderr(), []string{"the configuration has no pools"})
				return nil
			}
			return printTokens(cmd.OutOrStdout(), all)
		},
	}
	term.TakeConfig(cmd, &f.config)
	vault.BundleFlags(cmd, &f.bundle)
	term.OutputFlag(cmd, &f.form, "list")
	return cmd
}

func printTokens(out io.Writer, all []token) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	term.Printf(table, "POOL\tID\tGENERATION\tENDS\tSTATE\n")
	for _, t := range all {
		state := "in the document"
		switch {
		case t.Ended:
			state = "ended"
		case t.Previous:
			state = "previous"
		}
		term.Printf(table, "%s\t%s\t%d\t%s\t%s\n", t.Name, t.ID, t.Generation,
			t.Ends.Format(time.RFC3339), state)
	}
	return table.Flush()
}

// pools returns the pools with these names. It returns an error for each other name; example is the
// command line without them.
func pools(p *plan.Plan, example string, names []string) (list []*plan.Machine, err error) {
	var wrong, known []string
	of, nodes := map[string]*plan.Machine{}, map[string]bool{}
	for i := range p.Machines {
		m := &p.Machines[i]
		if m.Pool {
			of[m.Name] = m
			known = append(known, m.Name)
		} else {
			nodes[m.Name] = true
		}
	}
	for _, name := range names {
		switch {
		case of[name] != nil:
			if !slices.Contains(list, of[name]) {
				list = append(list, of[name])
			}
		case nodes[name]:
			wrong = append(wrong, fmt.Sprintf("%s: this is a named machine without a bootstrap "+
				"token; its certificates: kiln secrets renew --machine %[1]s%s", name,
				p.Config.Flag()))
		case len(known) > 0 && strings.ContainsAny(name, "./") && !term.AbsentPath(name):
			wrong = append(wrong, fmt.Sprintf("%s: this is a file, and the argument is a pool; "+
				"for example: %s %s --config %s", name, example, known[0], wording.ShellWord(name)))
		case len(known) == 0:
			wrong = append(wrong, fmt.Sprintf("%s: the configuration has no pools", name))
		default:
			wrong = append(wrong, fmt.Sprintf("%s: the configuration has no pool with this name%s",
				name, wording.Hint(name, known)))
		}
	}
	if len(wrong) > 0 {
		return nil, term.UsageErrorf("%s", strings.Join(wrong, "\n"))
	}
	return list, nil
}

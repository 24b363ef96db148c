package upkeep

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/text/wording"
)

// manifestFlags are the flags of kiln token manifest.
type manifestFlags struct {
	tokenFlags
	out string
}

func manifestCommand() *cobra.Command {
	var f manifestFlags
	cmd := &cobra.Command{
		Use:   "manifest POOL --out FILE",
		Short: "Write the Secret of a pool's token, for a running cluster",
		Long: `Write the Secret of the bootstrap token that is in the pool's document, with your
patches. Machines give kiln's objects to the API server only when the cluster is formed,
so a running cluster learns of a renewed token by kubectl apply -f FILE.

FILE holds the whole token: whoever reads it can join machines. It gets mode 0600, and is
never printed. Remove it when it is applied.`,
		Example: `  kiln token manifest blue --config prod.yaml --out blue-token.yaml`,
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := term.CheckGiven("out", f.out, "blue-token.yaml"); err != nil {
				return err
			}
			if f.out == "-" {
				return term.UsageErrorf("--out -: the Secret holds a token, which is never " +
					"printed; name a file")
			}
			if err := vault.CheckOutside("out", f.out); err != nil {
				return err
			}
			return f.run(cmd, list)
		},
	}
	f.takePools(cmd, 1, "one pool")
	vault.BundleFlags(cmd, &f.bundle)
	cmd.Flags().StringVar(&f.out, "out", "", "write the Secret to `FILE`, and replace an older "+
		"one of the same pool there")
	term.OutputFlag(cmd, &f.form, "report about --out")
	return cmd
}

func (f *manifestFlags) run(cmd *cobra.Command, names []string) error {
	if inv, err := render.ReadInventory(filepath.Dir(f.out)); err == nil && inv != nil {
		return fmt.Errorf("--out %s: the folder holds the documents of machines, and the next "+
			"render would not know the file; name another folder", f.out)
	}
	p, b, err := f.open(cmd)
	if err != nil {
		return err
	}
	list, err := pools(p, cmd.CommandPath()+" --out "+wording.ShellWord(f.out), names)
	if err != nil {
		return err
	}
	pool := list[0]
	t := tokensOf(b.Bundle, pool, time.Now())[0]
	if t.Ended {
		return fmt.Errorf("pool %s: the bootstrap token ended on %s; give the pool a new one: "+
			"kiln token renew %[1]s%[3]s", pool.Name, t.Ends.Format(time.DateOnly), p.Config.Flag())
	}
	c, err := render.Config(&f.config)
	if err != nil {
		return err
	}
	r, err := render.New(c, b.Bundle)
	if err != nil {
		return b.Blame(err)
	}
	secret := r.TokenSecret(pool.Name)
	if secret == nil {
		return fmt.Errorf("pool %s: the objects have no Secret of its token; "+
			"remove the patch that takes it away", pool.Name)
	}
	if err := render.WriteToken(f.out, secret); err != nil {
		return err
	}
	term.Notes(cmd.ErrOrStderr(),
		vault.KeepOutOfGit(filepath.Dir(f.out), vault.SecretFile{Name: f.out}))
	apply := applyManifest(f.out)
	if f.form == "json" {
		return term.Report(cmd.OutOrStdout(), struct {
			Manifest string   `json:"manifest"`
			Token    token    `json:"token"`
			Apply    []string `json:"apply"`
		}{f.out, t, apply})
	}
	term.Printf(cmd.OutOrStdout(), "%s: the bootstrap token of pool %s, until %s; now:\n", f.out,
		pool.Name, t.Ends.Format(time.RFC3339))
	term.Each(cmd.OutOrStdout(), "  %s\n", apply)
	return nil
}

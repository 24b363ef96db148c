package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/boot/bootmedia"
	"kiln.dev/kiln/cmd/kiln/summary"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/twin/change"
)

type renderFlags struct {
	vault.Run
	source folder.Input
	form   string
	dry    bool      // --check
	now    time.Time // of the run
	images int       // how many the machines pull
	again  bool      // reports whether --out has documents already
}

func renderCommand() *cobra.Command {
	var f renderFlags
	cmd := &cobra.Command{
		Use:        "render [FILE] [--out DIR] [--review DIR]",
		SuggestFor: term.Changers,
		Short:      "Render every machine into its boot document, and into a twin for review",
		Long: `Render every machine of a cluster: into its boot document (--out), into a review
twin that is safe for git (--review), or into both. The first render with --out
makes the bundle, the file with every secret of the cluster. The twin alone needs no
secret: the public half of the bundle is enough, which kiln secrets public writes.`,
		Example: `  kiln render cluster.yaml --out ./nodes
  kiln render cluster.yaml --out ./nodes --review ./review
  kiln render cluster.yaml --review ./review --check
  kiln render cluster.yaml --out ./nodes \
    --restore cp-1:/var/backups/etcd/etcd-cp-1-20260131T020000Z.db`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.Config = f.source.Path
			if err := f.check(); err != nil {
				return err
			}
			return f.run(cmd)
		},
	}
	term.TakeConfig(cmd, &f.source)
	flags := cmd.Flags()
	flags.StringVar(&f.Out, "out", "", "write the documents into the folder `DIR` "+
		"(mode 0700; its files 0600, because they hold secrets)")
	flags.StringVar(&f.Review, "review", "", "write the review twin into the folder `DIR`: "+
		"every machine as files, without a secret")
	flags.StringVar(&f.Secrets, "secrets", "", "read the bundle from `FILE`; the first render "+
		"with --out makes it. A pipe, or - for standard input, is never written (default: "+
		"NAME.secrets.yaml beside the configuration, or "+
		"NAME.secrets.yaml.age)")
	vault.IdentityFlag(cmd, &f.Source)
	vault.NewRecipientFlag(cmd, &f.Source)
	flags.StringVar(&f.Public, "public", "", "read the public half of the bundle from `FILE`, "+
		"for --review alone (default: NAME.public.yaml beside the configuration, "+
		"if there is no bundle)")
	flags.BoolVar(&f.dry, "check", false, "write nothing; exit with 3 if a folder differs from "+
		"what would be rendered, and show how the twin differs")
	flags.StringVar(&f.Restore, "restore", "", "restore etcd from a `SNAPSHOT` on a machine, "+
		"[MACHINE:]PATH (default machine: the first control plane)")
	term.OutputFlag(cmd, &f.form, "report")
	return cmd
}

// check returns an error if flags are missing or contradict each other.
func (f *renderFlags) check() error {
	if f.Review == "" {
		if err := term.CheckGiven("out", f.Out, "./nodes"); err != nil {
			return err
		}
	}
	if f.Public != "" && f.Out != "" {
		return term.UsageErrorf("--public is for --review alone: documents hold secrets; " +
			"leave --out or --public out")
	}
	if len(f.NewRecipients) > 0 && f.Out == "" {
		return term.UsageErrorf("%s is for --out: a review twin makes no bundle; leave %[1]s out",
			vault.RecipientFlag)
	}
	return cmp.Or(vault.CheckSource(&f.Source), f.checkFolders())
}

// checkFolders returns an error if the folder of the documents is shared with the twin or with the
// configuration.
func (f *renderFlags) checkFolders() error {
	if f.Out == "" {
		return nil
	}
	out := term.ResolvePath(f.Out)
	switch {
	case f.Review != "" && out == term.ResolvePath(f.Review):
		return term.UsageErrorf("--out and --review name one folder; " +
			"secrets and what goes into git need two")
	case f.Review != "" && (term.PathWithin(f.Out, f.Review) || term.PathWithin(f.Review, f.Out)):
		return term.UsageErrorf("--out and --review: the one folder is in the other; " +
			"secrets and what goes into git need two")
	case f.Config == folder.Stdin && out == term.ResolvePath("."):
		return term.UsageErrorf("--out %s: the bundle is in it; name a folder for the documents "+
			"alone, for example --out ./nodes", f.Out)
	case term.PathWithin(f.Out, f.Config) || out == term.ResolvePath(filepath.Dir(f.Config)):
		return term.UsageErrorf("--out %s: %s is in it; name a folder for the documents "+
			"alone, for example --out ./nodes", f.Out, f.Config)
	}
	return nil
}

func (f *renderFlags) run(cmd *cobra.Command) error {
	f.now = time.Now()
	if f.Out == "" {
		return f.runReview(cmd)
	}
	if err := vault.CheckOutside("out", f.Out); err != nil {
		return err
	}
	messages := cmd.ErrOrStderr()
	cluster, err := render.Config(&f.source)
	if err != nil {
		return err
	}
	b, err := f.Open(cluster)
	if err != nil {
		return err
	}
	stored := render.PublicPath(f.Config, cluster.Metadata.Name)
	if err := vault.CheckNewest(stored, b.Path, &b.Public); err != nil {
		return err
	}
	if err := b.CheckWritten(f.Out, f.Review); err != nil {
		return err
	}
	if f.Restore != "" {
		if err := b.CheckClock(f.now); err != nil {
			return err
		}
		b.Renew(f.Restore, time.Duration(cluster.Spec.Boot.FormationWindow))
		term.Notes(cmd.ErrOrStderr(), b.LostKeys(f.Restore))
	}
	if b.Renewed && b.Piped && !f.dry {
		return errors.New("--restore gives etcd a new identity, which the bundle has to keep, " +
			"and a bundle from a pipe cannot be written back; name the bundle's file")
	}
	if err := b.CheckSigned(cluster, f.now); err != nil {
		return err
	}
	r, err := render.New(cluster, b.Bundle)
	if err != nil {
		return b.Blame(err)
	}
	if err := f.restoreEtcd(r, b.Renewed && f.dry); err != nil {
		return err
	}
	result, err := f.write(messages, r, func(*render.Result) error {
		if err := b.Save(); err != nil {
			return err
		}
		if b.New { // it stays, even if the rest fails
			term.Notes(messages, []string{b.Made()})
		}
		secrets := []vault.SecretFile{{Name: f.Out, Folder: true}}
		if !b.Piped && !b.Sealed {
			secrets = append([]vault.SecretFile{{Name: b.Path}}, secrets...)
		}
		// Before the documents are there.
		term.Notes(messages, f.keepOutOfGit(cluster, secrets...))
		return nil
	})
	if err != nil {
		return err
	}
	term.Notes(messages, f.warnings(r, b, result))
	return f.finish(cmd, r, b.Path, result)
}

// runReview writes the review twin alone. It needs no secret, and uses none if there are any.
func (f *renderFlags) runReview(cmd *cobra.Command) error {
	cluster, err := render.ConfigPublic(&f.source)
	if err != nil {
		return err
	}
	name := cluster.Metadata.Name
	public, path, err := f.Half(f.Config, name)
	if err != nil {
		return err
	}
	stored := render.PublicPath(f.Config, name)
	if path == "" { // public is of --public, or of stored itself
		err = vault.CheckNewestHalf(stored, f.Public, public)
	} else {
		err = vault.CheckNewest(stored, path, public)
	}
	if err == nil {
		err = vault.CheckTwin(f.Review, cmp.Or(path, f.Public, stored), public)
	}
	if err != nil {
		return err
	}
	r, err := render.NewPublic(cluster, public)
	if err != nil {
		return err
	}
	if err := f.restoreEtcd(r, f.Restore != public.Restored); err != nil {
		return err
	}
	result, err := f.write(cmd.ErrOrStderr(), r, func(*render.Result) error {
		// People commit the twin, and with git add -A all that lies beside it.
		var secrets []vault.SecretFile
		if plain := f.PlainFile(f.Config, name); plain != "" {
			secrets = append(secrets, vault.SecretFile{Name: plain})
		}
		term.Notes(cmd.ErrOrStderr(), f.keepOutOfGit(cluster, secrets...))
		return nil
	})
	if err != nil {
		return err
	}
	term.Notes(cmd.ErrOrStderr(), slices.Concat(
		summary.Unmarked(f.Review, r), summary.Generations(r),
		summary.Doubts(r.Warnings()),
		summary.Ends(f.now, r.Ends())))
	return f.finish(cmd, r, path, result)
}

// restoreEtcd makes r restore etcd if --restore is given. It fails if the bundle's file does not
// have the identity for this restore yet, which unknown says.
func (f *renderFlags) restoreEtcd(r *render.Cluster, unknown bool) error {
	if f.Restore == "" {
		return nil
	}
	if err := r.Restore(f.Restore); err != nil {
		return fmt.Errorf("--restore: %w", err)
	}
	if unknown {
		return fmt.Errorf("--restore %s: the bundle does not know of it yet; "+
			"render with --out and without --check first", f.Restore)
	}
	return nil
}

// write renders into the folders that the flags name, and counts the images. It calls before when
// all machines are rendered and nothing is written yet.
func (f *renderFlags) write(
	messages io.Writer, r *render.Cluster, before func(*render.Result) error,
) (*render.Result, error) {
	if err := vault.CheckStrays(f.Review); err != nil {
		return nil, err
	}
	progress, finish := term.Progress(messages, r.Machines())
	defer finish()
	f.again = f.Out != "" && !term.AbsentPath(filepath.Join(f.Out, render.InventoryFile))
	result, err := r.Write(f.Out, render.Options{
		Review: f.Review, Check: f.dry, Now: f.now, Progress: progress,
		BeforeCommit: func(result *render.Result) error {
			if err := f.countImages(r); err != nil || before == nil {
				return err
			}
			return before(result)
		},
	})
	if err == nil && f.dry { // there was no commit
		if err = f.countImages(r); err == nil && f.Review != "" {
			result.Review.Unlisted, err = vault.UnlistedFiles(f.Review)
		}
	}
	return result, err
}

// countImages counts the images that the machines pull.
func (f *renderFlags) countImages(r *render.Cluster) error {
	images, err := r.Images()
	f.images = len(images)
	return err
}

// keepOutOfGit keeps secrets out of git, and the identity that opens the bundle. It only warns of
// files of the user's.
func (f *renderFlags) keepOutOfGit(c *config.Cluster, secrets ...vault.SecretFile) []string {
	if plain := f.Keys.PlainFile(); plain != "" {
		secrets = append(secrets, vault.SecretFile{Name: plain, Read: true})
	}
	dir := filepath.Dir(f.Config)
	notes := vault.KeepOutOfGit(dir, secrets...)
	var own []vault.SecretFile
	for _, name := range render.SecretFiles(f.Config, c) {
		own = append(own, vault.SecretFile{
			Name: name, Folder: strings.HasSuffix(name, "/"), Read: true,
		})
	}
	return append(notes, vault.WarnTracked(dir, own...)...)
}

// warnings returns notes about the documents and their bundle that the operator has to know.
func (f *renderFlags) warnings(
	r *render.Cluster, b *vault.File, result *render.Result,
) []string {
	list := append(summary.Access(f.Out, result), b.Notes()...)
	if b.New && !f.dry {
		list = append(list, summary.Deadline(f.now, r, b.Path))
		list = append(list, change.Tokens(f.now, r.Ends())...)
	}
	if b.Renewed {
		end, _ := summary.FormationEnd(r)
		list = append(list, fmt.Sprintf("%s: etcd has a new identity, %s; "+
			"it can be restored until %s. Give each machine with a member of etcd its new "+
			"document and an empty disk, put the snapshot at %s, and when it is restored, render "+
			"without --restore (docs/etcd.md)",
			b.Path, b.EtcdCluster(), end.Format(time.RFC3339), f.Restore))
	}
	if !f.dry {
		list = append(list, bootmedia.Stale(f.Out, result.Inventory.Documents)...)
	}
	return slices.Concat(list, summary.Unmarked(f.Review, r),
		summary.Dates(f.now, r, b.Path), summary.Generations(r), summary.Doubts(r.Warnings()),
		summary.Sizes(result))
}

// finish reports what the run did with the bundle in the file path. It returns ErrDifferent if
// --check found differences, in the folders or in the public half beside the configuration.
func (f *renderFlags) finish(
	cmd *cobra.Command, r *render.Cluster, path string, result *render.Result,
) error {
	run := &summary.Run{Out: f.Out, Review: f.Review, Bundle: path, Config: f.Config,
		Images: f.images, Dry: f.dry, Again: f.again}
	err := f.report(cmd.OutOrStdout(), run, result)
	switch {
	case err != nil && f.dry:
		return err
	case err != nil:
		return term.ReportError{Err: err}
	}
	stale := false
	if path != "" && f.Review != "" {
		note, err := vault.StaleHalf(render.PublicPath(f.Config, r.Plan.Name), path, r.Public)
		if err != nil {
			return err
		}
		if stale = note != ""; stale {
			term.Notes(cmd.ErrOrStderr(), []string{note})
		}
	}
	if f.dry && (stale || result.Changed() || result.Review.Changed() ||
		len(result.Review.Unlisted) > 0) {
		return term.ErrDifferent
	}
	return nil
}

// report prints what was written, or what would be.
func (f *renderFlags) report(out io.Writer, run *summary.Run, result *render.Result) error {
	switch {
	case f.form == "json":
		return run.JSON(out, result)
	case f.dry:
		run.Check(out, result)
		return nil
	}
	return run.Text(out, result)
}

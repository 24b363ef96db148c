package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/git"
	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/paths"
	"kiln/cmd/kiln/screen"
	"kiln/cmd/kiln/summary"
	"kiln/cmd/kiln/twin"
	"kiln/pki"
	"kiln/render"
	"kiln/render/config"
	"kiln/render/folder"
)

type renderFlags struct {
	config, out, review, secrets, public, restore, output string
	check                                                 bool
}

func renderCommand() *cobra.Command {
	var f renderFlags
	cmd := &cobra.Command{
		Use:   "render --config FILE [--out DIR] [--review DIR]",
		Short: "Render every machine of a cluster into its boot document, and into a twin for review",
		Long: "Render every machine of a cluster into its boot document (--out), into a twin for review that is safe for git (--review), or both.\n" +
			"The twin alone needs no secret: it is made from the public half of the bundle, which kiln secrets public writes.",
		Example: `  kiln render --config cluster.yaml --out ./nodes
  kiln render --config cluster.yaml --out ./nodes --review ./review
  kiln render --config cluster.yaml --review ./review --check
  kiln render --config cluster.yaml --out ./nodes --restore cp-1:/var/backups/etcd/etcd-cp-1-20260131T020000Z.db`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.wrong(); err != nil {
				return err
			}
			return f.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.config, "config", "c", "", "the cluster's configuration")
	flags.StringVar(&f.out, "out", "", "the folder for the documents (0700; its files 0600, for they hold secrets)")
	flags.StringVar(&f.review, "review", "", "the folder for the review twin: every machine as files, without a secret")
	flags.StringVar(&f.secrets, "secrets", "", "the bundle; the first render with --out makes it. A pipe, or - for standard input, is read only (default: NAME.secrets.yaml beside the configuration)")
	flags.StringVar(&f.public, "public", "", "the public half of the bundle, for --review alone (default: NAME.public.yaml beside the configuration, if there is no bundle)")
	flags.BoolVar(&f.check, "check", false, "write nothing; exit 3 if the folders are not what would be rendered, and show how the twin differs")
	flags.StringVar(&f.restore, "restore", "", "bring etcd back from a snapshot on a machine, [MACHINE:]PATH (default machine: the first control plane)")
	flags.StringVarP(&f.output, "output", "o", "text", "the report's form: text or json")
	return cmd
}

// wrong returns what is wrong with the flags.
func (f *renderFlags) wrong() error {
	if f.review == "" {
		if err := required("out", f.out, "./nodes"); err != nil {
			return errors.Join(required("config", f.config, "cluster.yaml"), err)
		}
	}
	switch {
	case f.public != "" && f.out != "":
		return usageError{errors.New("--public is for --review alone: documents hold secrets; leave --out or --public out")}
	case f.public != "" && f.secrets != "":
		return usageError{errors.New("--public and --secrets: name one of them")}
	case f.out != "" && f.review != "" && paths.Resolve(f.out) == paths.Resolve(f.review):
		return usageError{errors.New("--out and --review name one folder; secrets and what goes into git need two")}
	case f.out != "" && f.review != "" && (paths.Within(f.out, f.review) || paths.Within(f.review, f.out)):
		return usageError{errors.New("--out and --review: the one folder is in the other; secrets and what goes into git need two")}
	case f.out != "" && f.config != "" && (paths.Within(f.out, f.config) || paths.Resolve(f.out) == paths.Resolve(filepath.Dir(f.config))):
		return usageError{fmt.Errorf("--out %s: %s is in it; name a folder for the documents alone, for example --out ./nodes", f.out, f.config)}
	}
	return errors.Join(required("config", f.config, "cluster.yaml"), outputFlag(f.output))
}

// outputFlag checks the value of -o: text, json or one of the others.
func outputFlag(value string, others ...string) error {
	forms := append([]string{"text", "json"}, others...)
	if slices.Contains(forms, value) {
		return nil
	}
	last := len(forms) - 1
	return usageError{fmt.Errorf("-o %s: want %s or %s", value, strings.Join(forms[:last], ", "), forms[last])}
}

func (f *renderFlags) run(cmd *cobra.Command) error {
	if f.out == "" {
		return f.runReview(cmd)
	}
	if err := twin.CheckOutside("out", f.out); err != nil {
		return err
	}
	messages := cmd.ErrOrStderr()
	cluster, err := render.Config(f.config)
	if err != nil {
		return err
	}
	path := f.secrets
	if path == "" {
		path = render.BundlePath(f.config, cluster.Metadata.Name)
	}
	bundle, kind, err := f.bundle(cmd.InOrStdin(), path, cluster)
	if err != nil {
		return err
	}
	if err := olderThan(render.PublicPath(f.config, cluster.Metadata.Name), path, &bundle.Public); err != nil {
		return err
	}
	renewed := f.restore != "" && f.renew(bundle, cluster)
	if renewed && kind == bundlePiped && !f.check {
		return fmt.Errorf("--restore gives etcd a new identity, which the bundle has to keep, and what comes from --secrets %s cannot be written back; name the bundle's file", path)
	}
	r, err := render.New(cluster, bundle)
	if err != nil {
		return err
	}
	if err := f.restoreEtcd(r, renewed && f.check); err != nil {
		return err
	}
	options := render.Options{BeforeCommit: func(*render.Result) (err error) {
		switch {
		case kind == bundleNew:
			err = render.CreateBundle(path, bundle)
		case renewed:
			err = render.ReplaceBundle(path, bundle)
		case kind == bundleStored:
			folder.Tidy(path)
		}
		if err == nil {
			// The bundle is there already, and the documents come next.
			f.keepOutOfGit(messages, path, kind)
		}
		return err
	}}
	result, err := f.write(messages, r, options)
	if err != nil {
		return err
	}
	message.Notes(messages, f.warnings(r, path, bundle, kind == bundleNew && !f.check, renewed, result))
	return f.finish(cmd, r, path, result)
}

// warnings returns what the operator has to know about the documents and their bundle, which may be made for this
// run, or have a new identity of etcd.
func (f *renderFlags) warnings(r *render.Cluster, path string, b *pki.Bundle, made, renewed bool, result *render.Result) []string {
	list := summary.Access(f.out, result)
	if made {
		list = append(list, fmt.Sprintf("made the bundle %s: it holds every secret of the cluster; keep it safe and out of git", path),
			summary.Deadline(b.FormationDeadline))
	}
	if renewed {
		list = append(list, fmt.Sprintf("%s: etcd has a new identity, %s; it can be restored until %s",
			path, b.EtcdCluster(), b.FormationDeadline.Format(time.RFC3339)))
	}
	list = append(list, summary.Dates(&b.Public, result)...)
	list = append(list, summary.Generations(r)...)
	return append(list, summary.Sizes(result)...)
}

// write renders into the folders that the flags name.
func (f *renderFlags) write(messages io.Writer, r *render.Cluster, options render.Options) (*render.Result, error) {
	if err := twin.CheckStrays(f.review); err != nil {
		return nil, err
	}
	progress, finish := screen.Progress(messages, r.Machines())
	defer finish()
	options.Review, options.Check, options.Progress = f.review, f.check, progress
	return r.Write(f.out, options)
}

// finish reports what was done, and tells by the error whether anything differs.
func (f *renderFlags) finish(cmd *cobra.Command, r *render.Cluster, bundlePath string, result *render.Result) error {
	if err := f.report(cmd.OutOrStdout(), bundlePath, result); err != nil {
		return reportError{err}
	}
	old, err := f.oldPublic(cmd.ErrOrStderr(), r, bundlePath)
	if err != nil {
		return err
	}
	if f.check && (old || result.Changed() || result.Review.Changed()) {
		return errDifferent
	}
	return nil
}

// keepOutOfGit keeps what this render writes out of git: the documents, and the bundle unless it came
// from a pipe.
func (f *renderFlags) keepOutOfGit(messages io.Writer, bundle string, kind bundleKind) {
	secrets := []git.Secret{{Name: bundle}, {Name: f.out, Folder: true}}
	if kind == bundlePiped {
		secrets = secrets[1:]
	}
	message.Notes(messages, git.KeepOut(filepath.Dir(f.config), secrets...))
}

// bundleKind is where a bundle comes from.
type bundleKind int

const (
	bundleStored bundleKind = iota // a file
	bundlePiped                    // a pipe, which cannot be written
	bundleNew                      // drawn for this render
)

// bundle reads the bundle, or draws a new one if there is none yet. A folder that already holds documents shows that there
// was one: a new bundle would be another cluster.
func (f *renderFlags) bundle(in io.Reader, path string, cluster *config.Cluster) (b *pki.Bundle, kind bundleKind, err error) {
	stored := true
	if f.secrets == "" {
		b, err = render.Bundle(path)
	} else {
		b, stored, err = render.GivenBundle(path, in)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		if !stored {
			kind = bundlePiped
		}
		return b, kind, err
	}
	if err := f.mayBegin(path, cluster.Metadata.Name); err != nil {
		return nil, 0, err
	}
	certs := &cluster.Spec.Certificates
	b, err = pki.New(pki.Options{
		Name: cluster.Metadata.Name, Now: time.Now(), Algorithm: pki.Algorithm(certs.KeyAlgorithm),
		CALifetime: time.Duration(certs.CALifetime), FormationWindow: time.Duration(cluster.Spec.Boot.FormationWindow),
	})
	return b, bundleNew, err
}

// mayBegin returns why there is to be no new bundle at path, or nil if a new cluster may begin.
func (f *renderFlags) mayBegin(path, name string) error {
	before, err := render.ReadInventory(f.out)
	if err != nil {
		return err
	}
	if before != nil {
		return fmt.Errorf("%s holds the documents of %s, and its bundle %s is missing: a new one would be another cluster; restore the bundle, or name it with --secrets", f.out, before.Name, path)
	}
	if f.restore != "" {
		return fmt.Errorf("--restore: there is no bundle %s: what a snapshot holds is encrypted and signed with the keys of its own cluster", path)
	}
	for _, there := range []struct{ what, path string }{
		{"the bundle", render.BundlePath(f.config, name)},
		{"the public half of a bundle", render.PublicPath(f.config, name)},
	} {
		if !paths.Absent(there.path) {
			return fmt.Errorf("%s is %s, and %s is missing (no such file): a new one would be another cluster; restore the bundle, or name it with --secrets", there.path, there.what, path)
		}
	}
	if err := twin.CheckNoCluster(path, name, f.config, f.review); err != nil {
		return err
	}
	if err := twin.CheckOutside("secrets", path); err != nil {
		return err
	}
	if dir := filepath.Dir(path); paths.Absent(dir) {
		return fmt.Errorf("--secrets %s: the folder %s for the new bundle is not there; make it first", path, dir)
	}
	return nil
}

// renew gives etcd the identity and the time that a restore needs, and says whether it did: while the time lasts, rendering
// the same restore again changes nothing.
func (f *renderFlags) renew(b *pki.Bundle, cluster *config.Cluster) bool {
	now := time.Now().UTC().Truncate(time.Second)
	if b.Restored == f.restore && now.Before(b.FormationDeadline) {
		return false
	}
	deadline := now.Add(time.Duration(cluster.Spec.Boot.FormationWindow))
	if end := b.CA.Certificate.NotAfter; deadline.After(end) {
		deadline = end
	}
	b.Restore(f.restore, deadline)
	return true
}

// restoreEtcd makes r restore etcd, if that was asked for. Unknown says that the bundle as it is stored has no identity for it.
func (f *renderFlags) restoreEtcd(r *render.Cluster, unknown bool) error {
	if f.restore == "" {
		return nil
	}
	if err := r.Restore(f.restore); err != nil {
		return fmt.Errorf("--restore: %w", err)
	}
	if unknown {
		return fmt.Errorf("--restore %s: the bundle does not know of it yet; render with --out and without --check first", f.restore)
	}
	return nil
}

// report lists what was written, or would be.
func (f *renderFlags) report(out io.Writer, bundlePath string, result *render.Result) error {
	run := &summary.Run{Out: f.out, Review: f.review, Bundle: bundlePath}
	switch {
	case f.output == "json":
		return run.JSON(out, result)
	case f.check:
		run.Check(out, result)
		return nil
	}
	return run.Text(out, result)
}

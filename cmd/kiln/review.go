package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/paths"
	"kiln/pki"
	"kiln/render"
)

// runReview writes the review twin alone. No secret is needed for it, and none is used if there are any.
func (f *renderFlags) runReview(cmd *cobra.Command) error {
	cluster, err := render.ConfigPublic(f.config)
	if err != nil {
		return err
	}
	public, bundlePath, err := half(cmd.InOrStdin(), f.config, f.secrets, f.public, cluster.Metadata.Name)
	if err != nil {
		return err
	}
	if err := olderThan(render.PublicPath(f.config, cluster.Metadata.Name), bundlePath, public); err != nil {
		return err
	}
	r, err := render.NewPublic(cluster, public)
	if err != nil {
		return err
	}
	if err := f.restoreEtcd(r, f.restore != public.Restored); err != nil {
		return err
	}
	result, err := f.write(cmd.ErrOrStderr(), r, render.Options{})
	if err != nil {
		return err
	}
	warnGenerations(cmd.ErrOrStderr(), r)
	return f.finish(cmd, r, bundlePath, result)
}

// half returns the public half of the bundle of a configuration: the bundle's own, and bundlePath,
// or the one that is stored. The flags --secrets and --public name either, if they are given; in is
// what --secrets - means.
func half(in io.Reader, config, secretsFlag, publicFlag, cluster string) (public *pki.Public, bundlePath string, err error) {
	secrets, stored := render.BundlePath(config, cluster), render.PublicPath(config, cluster)
	var b *pki.Bundle
	switch {
	case secretsFlag != "":
		secrets = secretsFlag
		b, _, err = render.GivenBundle(secrets, in)
	case publicFlag != "":
		public, err = render.Public(publicFlag)
		return public, "", err
	case paths.Absent(secrets) && paths.Absent(stored):
		return nil, "", fmt.Errorf("neither %s nor its public half %s is there; kiln render --out makes a bundle, kiln secrets public writes its public half", secrets, stored)
	case paths.Absent(secrets):
		public, err = render.Public(stored)
		return public, "", err
	default:
		b, err = render.Bundle(secrets)
	}
	if err != nil {
		return nil, "", err
	}
	return &b.Public, secrets, nil
}

// olderThan returns an error if a bundle is older than the public half in a file: its old keys
// would come back. A file that is not there, or is no public half, says nothing.
func olderThan(stored, bundlePath string, b *pki.Public) error {
	there, err := render.Public(stored)
	if err != nil {
		return nil
	}
	name := b.Older(there)
	if name == "" {
		return nil
	}
	if bundlePath == "-" {
		bundlePath = "standard input"
	}
	return fmt.Errorf("%s: the bundle is older than %s: %s is %d here and %d there, and old keys would come back; "+
		"restore the newer copy of the bundle", bundlePath, stored, name, b.Generation(name), there.Generation(name))
}

// oldPublic says that a public half lies beside the configuration that is no longer the bundle's, and tells so: who has no secrets would
// render another twin.
func (f *renderFlags) oldPublic(messages io.Writer, r *render.Cluster, bundlePath string) (bool, error) {
	stored := render.PublicPath(f.config, r.Plan.Name)
	if bundlePath == "" || f.review == "" || paths.Absent(stored) {
		return false, nil
	}
	there, err := render.Public(stored)
	if err != nil {
		return false, err
	}
	old, err := there.Marshal()
	if err != nil {
		return false, err
	}
	now, err := r.Public.Marshal()
	if err != nil || bytes.Equal(old, now) {
		return false, err
	}
	if info, err := os.Stat(bundlePath); err != nil || !info.Mode().IsRegular() {
		bundlePath = "BUNDLE" // it came from a pipe
	}
	message.Printf(messages, "kiln: %s is no longer the public half of %s; run: kiln secrets public --secrets %s --out %s\n", stored, bundlePath, bundlePath, stored)
	return true, nil
}

// reportReview says what changed in the twin.
func (f *renderFlags) reportReview(out io.Writer, c *render.Changes) {
	removed := ""
	if len(c.Removed) > 0 {
		removed = fmt.Sprintf(", %d removed", len(c.Removed))
	}
	message.Printf(out, "%s: %d files written%s, %d unchanged; it holds no secret: commit it with the configuration\n", filepath.Clean(f.review), len(c.Written), removed, c.Unchanged)
}

// reportCheck lists what would change: of documents the names alone, of the twin how.
func (f *renderFlags) reportCheck(out io.Writer, result *render.Result) {
	for _, folder := range []struct {
		dir, prefix string
		changes     *render.Changes
	}{{f.out, "", &result.Changes}, {f.review, f.review, &result.Review}} {
		switch {
		case folder.dir == "":
		case !folder.changes.Changed():
			message.Printf(out, "%s is what would be rendered\n", folder.dir)
		default:
			listed(out, "would change ", folder.prefix, folder.changes.Written)
			listed(out, "would remove ", folder.prefix, folder.changes.Removed)
		}
	}
	for _, d := range result.Review.Diffs {
		name := filepath.Join(f.review, d.Name)
		message.Printf(out, "\n--- %s\n+++ %s as it would be rendered\n", name, name)
		for _, line := range d.Lines {
			message.Printf(out, "%s\n", line)
		}
	}
	if more := len(result.Review.Written) - len(result.Review.Diffs); more > 0 {
		message.Printf(out, "\n… and %s more\n", message.Count(more, "file"))
	}
}

// listed prints paths, each behind what would be done to it.
func listed(out io.Writer, verb, dir string, names []string) {
	for i, name := range names {
		if i == message.MaxListed {
			message.Printf(out, "%s and %d more\n", verb, len(names)-i)
			return
		}
		message.Printf(out, "%s %s\n", verb, filepath.Join(dir, name))
	}
}

// changesJSON is what the report says of one folder.
type changesJSON struct {
	Written   []string      `json:"written"`
	Removed   []string      `json:"removed"`
	Unchanged int           `json:"unchanged"`
	Diffs     []render.Diff `json:"diffs,omitempty"`
}

func asJSON(c *render.Changes) *changesJSON {
	return &changesJSON{message.NonNil(c.Written), message.NonNil(c.Removed), c.Unchanged, c.Diffs}
}

// reportJSON is the report for programs: the documents' changes and inventory, if they were asked for, and the twin's.
func (f *renderFlags) reportJSON(out io.Writer, result *render.Result) error {
	report := struct {
		*changesJSON
		Inventory *render.Inventory `json:"inventory,omitempty"`
		Review    *changesJSON      `json:"review,omitempty"`
	}{}
	if f.out != "" {
		report.changesJSON, report.Inventory = asJSON(&result.Changes), &result.Inventory
	}
	if f.review != "" {
		report.Review = asJSON(&result.Review)
	}
	return message.JSON(out, report)
}

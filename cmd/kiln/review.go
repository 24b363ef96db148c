package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/paths"
	"kiln/cmd/kiln/summary"
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
	message.Notes(cmd.ErrOrStderr(), summary.Generations(r))
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

// This file renders a cluster with secrets that are thrown away, to find mistakes.

package main

import (
	"errors"
	"io"
	"time"

	"kiln.dev/kiln/cmd/kiln/summary"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/pki/request"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/machine/images"
)

// runTrial parses the configuration and renders the whole cluster. The rendering finds mistakes
// that parsing cannot find, such as a patch that changes nothing or an add-on object without a
// name. It shows its progress on messages. It returns the cluster, for its warnings, also if
// rendering fails, and nil if the cluster cannot be prepared.
func runTrial(s *folder.Input, messages io.Writer) (*render.Cluster, error) {
	r, err := trialCluster(s)
	if err != nil {
		return nil, err
	}
	progress, finish := term.Progress(messages, r.Machines())
	defer finish()
	return r, errors.Join(r.Try(progress), unsigned(r, s.Path))
}

// unsigned returns an error for each certificate that a CA elsewhere has to sign, if the bundle or
// its public half beside the configuration path says that there is such a CA.
func unsigned(r *render.Cluster, path string) error {
	var stored vault.Source
	half, file, err := stored.Half(path, r.Plan.Name)
	if err != nil || half.Name != r.Plan.Name {
		return nil // nobody knows, and a render says what is wrong with the bundle
	}
	if len(half.External.Roots) == 0 {
		return nil
	}
	signed := request.Cluster{Public: half, Plan: r.Plan, Now: time.Now()}
	if file != "" {
		if signed.Bundle, err = stored.Bundle(path, r.Plan.Name); err != nil {
			return err
		}
	}
	return signed.Missing()
}

// storedEnds returns warnings about documents of r's cluster that have ended or end soon, if the
// bundle or its public half lies beside the configuration path. It returns none without a bundle
// that can be read, because nothing is known of its dates.
func storedEnds(r *render.Cluster, path string) []string {
	var stored vault.Source
	half, _, err := stored.Half(path, r.Plan.Name)
	if err != nil {
		return nil
	}
	return summary.Ends(time.Now(), r.EndsWith(half))
}

// trialCluster returns the cluster of a configuration with secrets that are thrown away. It fails
// if the configuration is wrong, and if the cluster cannot be prepared.
func trialCluster(s *folder.Input) (*render.Cluster, error) {
	c, err := render.Config(s)
	if err != nil {
		return nil, err
	}
	return cluster(c)
}

// trialImages returns the images that the machines of a configuration pull. It fails as cluster
// does.
func trialImages(c *config.Cluster) ([]images.Image, error) {
	r, err := cluster(c)
	if err != nil {
		return nil, err
	}
	return r.Images()
}

func cluster(c *config.Cluster) (*render.Cluster, error) {
	b, err := vault.Make(c, private.P256)
	if err != nil {
		return nil, err
	}
	return render.New(c, b)
}

package assembly

import (
	"fmt"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
)

const anotherCluster = "the %s belongs to cluster %q, the configuration describes %q; no cluster " +
	"can change its name: name the right one with %s, or correct metadata.name"

// New prepares the cluster that c describes, with the secrets of b. It fails with config.Problems
// where a line of the configuration is wrong: a patch that matches or changes nothing, an add-on
// that cannot be read, a name in ignorePreflight that no check has. It also fails if b belongs to
// another cluster.
func New(c *config.Cluster, b *pki.Bundle, later Later) (*Cluster, error) {
	if b.Name != c.Metadata.Name {
		return nil, fmt.Errorf(anotherCluster, "bundle", b.Name, c.Metadata.Name, "--secrets")
	}
	return assemble(c, &b.Public, b, later)
}

// NewPublic is New without secrets: the cluster can be reviewed, but its documents cannot be
// written.
func NewPublic(c *config.Cluster, p *pki.Public, later Later) (*Cluster, error) {
	if p.Name != c.Metadata.Name {
		return nil, fmt.Errorf(anotherCluster, "public half", p.Name, c.Metadata.Name,
			"--public or --secrets")
	}
	return assemble(c, p, nil, later)
}

func assemble(
	c *config.Cluster, public *pki.Public, b *pki.Bundle, later Later,
) (*Cluster, error) {
	p := plan.New(c)
	r := &Cluster{
		Plan: p, Public: public, Bundle: b,
		Joining: map[string]*pki.Joining{}, later: later,
	}
	// Each step needs the result of the one before it.
	for _, step := range []func() config.Problems{
		func() config.Problems {
			var problems config.Problems
			r.patches, problems = ReadPatches(c)
			return append(r.unknownChecks(), problems...)
		},
		r.readObjects,
		r.tryPatches,
	} {
		if problems := step(); len(problems) > 0 {
			return nil, problems
		}
	}
	return r, nil
}

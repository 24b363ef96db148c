package render

import (
	"slices"
	"sync"
	"time"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/check"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/explain"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/machine/addons"
	"kiln.dev/kiln/render/machine/assembly"
	"kiln.dev/kiln/render/machine/images"
	"kiln.dev/kiln/render/pack/document"
	"kiln.dev/kiln/render/pack/ignition"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/secret"
	"kiln.dev/kiln/render/twin/review"
)

// Cluster is a cluster ready to be rendered machine by machine. Its methods may be called from
// several goroutines.
type Cluster struct {
	*assembly.Cluster

	explainer *explain.Explainer
	packer    *document.Packer

	// checker returns the checker of the cluster, which its first call makes.
	checker func() *check.Checker
}

// New prepares the cluster that c describes, with the secrets of b. It fails with config.Problems
// where a line of the configuration is wrong: a patch that matches or changes nothing, an add-on
// that cannot be read, an image that the lock does not have, a machine that exceeds its
// maxExposure. It also fails if b belongs to another cluster, and if a CA whose key is not in b has
// not signed every certificate.
func New(c *config.Cluster, b *pki.Bundle) (*Cluster, error) {
	return newCluster(assembly.New(c, b, later))
}

// NewPublic is New without secrets: the cluster can be reviewed, but its documents cannot be
// written.
func NewPublic(c *config.Cluster, p *pki.Public) (*Cluster, error) {
	return newCluster(assembly.NewPublic(c, p, later))
}

// later is what a machine needs of the wings above it.
var later = assembly.Later{Translate: ignition.Translate, Digest: review.NodeDigest}

// newCluster adds a checker to the result of assembly.New or assembly.NewPublic.
func newCluster(a *assembly.Cluster, err error) (*Cluster, error) {
	if err != nil {
		return nil, err
	}
	if err := unsigned(a, time.Time{}); err != nil {
		return nil, err
	}
	problems := slices.Concat(images.Unpinned(a), document.RefusedExposures(secretCluster(a)))
	if len(problems) > 0 {
		return nil, problems
	}
	r := &Cluster{
		Cluster: a, explainer: explain.New(a), packer: document.NewPacker(secretCluster(a)),
	}
	r.checker = sync.OnceValue(func() *check.Checker {
		return check.New(&check.Cluster{
			Cluster: *secretCluster(a), Bundle: a.Bundle,
			Origin: r.explainer.Origin,
			Source: r.explainer.Source,
			Cause:  r.explainer.Cause,
		})
	})
	return r, nil
}

// secretCluster returns what the table of secrets asks of a cluster.
func secretCluster(a *assembly.Cluster) *secret.Cluster {
	return &secret.Cluster{Plan: a.Plan, Public: a.Public, Objects: a.Objects, Joining: a.Joining}
}

// Check fails if n breaks a rule that every machine must keep, whatever the configuration. The
// error joins one for each broken rule. The program checks every machine that it renders.
func (r *Cluster) Check(m *plan.Machine, n *node.Node) error {
	return r.blame(m, n, r.checker().Node(m, n))
}

// Warnings returns what is valid and probably not meant, as far as the configuration does not
// accept it: in the configuration, on the machines that were made and checked so far, in what
// patches and add-ons leave.
func (r *Cluster) Warnings() config.Problems {
	c := r.Plan.Config
	return c.Unaccepted(slices.Concat(c.Warnings(), r.checker().Warnings(),
		r.PatchWarnings(), r.Plan.NetworkWarnings(), addons.Warnings(r.Plan, r.Objects)))
}

// checked returns everything that the i-th machine of the plan receives, and fails if Check does.
func (r *Cluster) checked(i int) (*node.Node, error) {
	n, err := r.Node(i)
	if err != nil {
		return nil, err
	}
	return n, r.Check(&r.Plan.Machines[i], n)
}

// Exposures returns what documents and bodies hold that is worth stealing, and who can read them.
func (r *Cluster) Exposures() []document.ExposureGroup {
	return document.ExposureGroups(secretCluster(r.Cluster))
}

// Unmarked returns the paths of the user's files that a review twin shows and kiln unpack hides.
func (r *Cluster) Unmarked() []string { return review.Unmarked(r.Cluster) }

// Images returns all images that the machines pull. It fails if a patch of the user cannot be
// applied.
func (r *Cluster) Images() ([]images.Image, error) { return images.List(r.Cluster) }

// UnlistedImages returns the add-ons whose programs may pull images that Images does not have.
func (r *Cluster) UnlistedImages() []string { return images.Unlisted(r.Cluster) }

// Explain explains a file of a machine or, if target is PATH:KEY, one value in the file. For a
// secret the explanation holds only its name and generation. It fails with a *wording.Unknown if
// there is no such machine, file or key, if the file has no keys, and if its values are not shown.
func (r *Cluster) Explain(machine, target string) (*explain.Explanation, error) {
	return r.explainer.Explain(machine, target)
}

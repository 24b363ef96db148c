package assembly

import (
	"errors"
	"fmt"

	"kiln/manifests"
	"kiln/patches"
	"kiln/render/config"
	"kiln/render/credential"
	"kiln/render/plan"
)

// readObjects makes what the API server is to hold, and checks it.
func (r *Cluster) readObjects() (problems config.Problems) {
	for i := range r.Plan.Machines {
		if m := &r.Plan.Machines[i]; m.Token {
			r.Joining["bootstrap-token-"+r.Bundle.MachineToken(m).ID] = m
		}
	}
	from := map[string]int{} // the add-on that an object comes from, by the object's path
	stream, problems := r.ObjectStream(from, nil)
	if len(problems) > 0 {
		return problems
	}
	var err error
	if r.Objects, err = manifests.Read(stream); err != nil {
		return config.Problems{r.Plan.Config.Problemf("addons", "%s", err)}
	}
	return append(r.namespaces(from), r.podSecurity(from)...)
}

// tokens are the bootstrap tokens that the API server is to know.
func (r *Cluster) tokens() (tokens []manifests.BootstrapToken) {
	for i := range r.Plan.Machines {
		if m := &r.Plan.Machines[i]; m.Token {
			t := r.Bundle.MachineToken(m)
			tokens = append(tokens, manifests.BootstrapToken{Machine: m.Name, ID: t.ID, Secret: t.Secret, Expires: r.TokenExpiry(m)})
		}
	}
	return tokens
}

// ObjectStream returns what the API server is to hold: ours, then the add-ons, then the marker. It notes for each object of an add-on
// from which one it comes.
func (r *Cluster) ObjectStream(from map[string]int, watch Watch) (stream []byte, problems config.Problems) {
	c := r.Plan.Config
	stream, err := r.patches.apply(manifests.Objects(r.Plan, r.tokens()), nil, watch)
	if err != nil {
		return nil, config.Problems{c.Problemf("", "objects: %s", err)}
	}
	for i, a := range c.Spec.Addons {
		path := AddonField(i)
		addon, objects, err := readAddon(c, a.Path)
		if err != nil {
			for _, err := range unjoin(err) {
				problems = append(problems, c.Problemf(path, "%s", err))
			}
			continue
		}
		for _, o := range objects {
			from[o.Path] = i
		}
		stream = manifests.Join(stream, addon)
		watch.report(plan.Origin{Field: path}, stream)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	if stream, err = r.patches.apply(manifests.Source{Base: stream, From: plan.Origin{Field: "addons"}}, r.patches.forObjects(), watch); err != nil {
		return nil, config.Problems{c.Problemf("patches", "%s", err)}
	}
	stream = manifests.Join(stream, manifests.Marker(r.Plan, r.Public.Cluster))
	watch.report(plan.Kiln, stream)
	return stream, nil
}

// unjoin returns the errors that one joins, or itself.
func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// holdsCredential reports whether a value that an add-on has is a credential.
func holdsCredential(value string) bool { return credential.Holds([]byte(value)) }

// readAddon returns an add-on's documents, a file as it is, a folder as kustomize builds it, and the objects in them.
func readAddon(c *config.Cluster, path string) ([]byte, []manifests.Object, error) {
	stream := c.Text(path)
	if folder := c.Folder(path); folder != nil {
		var err error
		if stream, err = patches.Build(path, folder, holdsCredential); err != nil {
			return nil, nil, err
		}
	}
	objects, err := manifests.Read(stream)
	if err != nil {
		var all []error
		for _, err := range unjoin(err) {
			all = append(all, fmt.Errorf("%s: %w", path, err))
		}
		return nil, nil, errors.Join(all...)
	}
	return stream, objects, nil
}

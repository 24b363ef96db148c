package assembly

import (
	"fmt"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/plan"
)

// addStaticPods adds the static pods, and the balancer's configuration where there is a balancer.
func (t *tree) addStaticPods() error {
	if !t.Plan.StaticPods(t.m) {
		return nil
	}
	if t.Plan.Balanced(t.m) {
		t.addFile(plan.BalancerConf, 0o644, string(manifests.Balancer(t.Plan)),
			"how the balancer finds the API servers; its user reads it",
			"workers.localBalancer", "nodes")
	}
	t.addDir(plan.ManifestsDir, 0o700, "")
	pods, err := t.StaticPods(t.m, nil)
	if err != nil {
		return err
	}
	for file, doc := range pods {
		t.addFile(file, 0o600, string(doc), "static pod")
	}
	return nil
}

// StaticPods returns m's static pods as finished documents by their paths. It fails if a patch of
// the user cannot be applied.
func (r *Cluster) StaticPods(m *plan.Machine, watch Watch) (map[string][]byte, error) {
	src := manifests.StaticPods(r.Plan, m, r.Public.EtcdCluster())
	stream, err := r.patches.Apply(src, r.patches.ForMachine(m), watch)
	if err == nil {
		stream, err = r.pin(stream, watch)
	}
	var objects []manifests.Object
	if err == nil {
		objects, err = manifests.Read(stream)
	}
	if err != nil {
		return nil, fmt.Errorf("static pods: %w", err)
	}
	pods := map[string][]byte{}
	for _, o := range objects {
		pods[plan.ManifestPath(o.Name)] = o.YAML
	}
	return pods, nil
}

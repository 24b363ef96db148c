package assembly

import (
	"kiln/manifests"
	"kiln/render/plan"
)

// addStaticPods adds the static pods, and what a worker's balancer reads.
func (t *tree) addStaticPods() error {
	if !t.Plan.StaticPods(t.m) {
		return nil
	}
	if t.Plan.Balanced(t.m) {
		t.addFile(plan.BalancerConf, 0o644, string(manifests.Balancer(t.Plan)), "how the balancer finds the API servers; its user reads it", "workers.localBalancer", "nodes")
	}
	t.addDir(plan.ManifestsDir, 0o700, "")
	pods, err := t.StaticPods(t.m, nil)
	if err != nil {
		return err
	}
	for path, doc := range pods {
		t.addFile(path, 0o600, string(doc), "static pod")
	}
	return nil
}

package assembly

import (
	"fmt"
	"path"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
)

// addStaticPods adds the static pods, and the balancer's configuration where there is a balancer.
func (t *tree) addStaticPods() error {
	if t.Plan.ReadsPods(t.m) {
		t.addDir(plan.ManifestsDir, 0o700, "")
	}
	if !t.Plan.StaticPods(t.m) {
		return nil
	}
	if t.Plan.Balanced(t.m) {
		t.addFile(plan.BalancerConf, 0o644, string(manifests.Balancer(t.Plan)),
			"how the balancer finds the API servers; its user reads it",
			"workers.localBalancer", "nodes")
	}
	pods, err := t.StaticPods(t.m, nil)
	if err != nil {
		return err
	}
	for file, doc := range pods {
		t.addFile(file, 0o600, string(doc), "static pod")
	}
	return nil
}

// OwnPods returns the static pods that the user's files bring to m, with the digests of the lock,
// by the field of the file. Those that are secrets are left out.
func (r *Cluster) OwnPods(m *plan.Machine) map[string][]byte {
	pods := map[string][]byte{}
	for i, f := range m.Settings.Files {
		if path.Dir(f.Path) == plan.ManifestsDir && !f.Secret {
			pods[element(m.Settings.Path("files"), i)] = r.fileContent(f)
		}
	}
	return pods
}

// fileContent returns the content of a file of the user's. A static pod gets the digests of the
// lock. One that cannot be read stays as it is, and package check says why.
func (r *Cluster) fileContent(f config.File) []byte {
	text := r.content(f.Content, f.ContentFrom)
	if path.Dir(f.Path) == plan.ManifestsDir {
		if pinned, err := r.pin(text, nil); err == nil {
			return pinned
		}
	}
	return text
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

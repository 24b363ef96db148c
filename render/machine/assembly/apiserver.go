package assembly

import (
	"fmt"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/plan"
)

// addAPIServer adds the settings that the API server reads from files.
func (t *tree) addAPIServer() error {
	if !t.m.ControlPlane() {
		return nil
	}
	t.addDir(plan.APIServerDir, 0o700, "")
	t.addSecret(plan.Encryption, "", string(pki.RootEncryption), func(b *pki.Bundle) []byte {
		var keys []manifests.EncryptionKey
		for _, k := range b.EncryptionKeys() {
			keys = append(keys, manifests.EncryptionKey{
				Provider: k.Provider, Name: k.Name, Key: k.Key})
		}
		return manifests.Encryption(t.Plan, keys)
	}, "how the API server writes Secrets to etcd", manifests.EncryptionShown(manifests.Encryption(
		t.Plan, []manifests.EncryptionKey{{Provider: pki.OwnProvider}}))...)
	if t.Plan.Hardened() {
		t.addDir(plan.AuditDir, 0o700, "")
	}
	settings, err := t.APIServerSettings(t.m, nil)
	if err != nil {
		return err
	}
	for path, doc := range settings {
		t.addFile(path, 0o600, string(doc), "settings of the API server")
	}
	return nil
}

// APIServerSettings returns the settings of m's API server that hold no secret, by their paths. It
// returns none if the plan has none, and fails if a patch of the user cannot be applied.
func (r *Cluster) APIServerSettings(m *plan.Machine, watch Watch) (map[string][]byte, error) {
	src := manifests.APIServer(r.Plan)
	if len(src.Base) == 0 {
		return nil, nil
	}
	objects, err := r.patched(src, m, watch)
	if err != nil {
		return nil, fmt.Errorf("settings of the API server: %w", err)
	}
	settings := map[string][]byte{}
	for _, o := range objects {
		path := manifests.APIServerPath(o.Kind)
		if settings[path], err = manifests.WithoutMetadata(o.YAML); err != nil {
			return nil, fmt.Errorf("settings of the API server: %s: %w", o.Kind, err)
		}
	}
	return settings, nil
}

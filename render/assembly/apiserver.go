package assembly

import (
	"fmt"

	"kiln/manifests"
	"kiln/pki"
	"kiln/render/plan"
)

// addAPIServer adds the settings that the API server reads from files.
func (t *tree) addAPIServer() error {
	if !t.m.ControlPlane() {
		return nil
	}
	t.addDir(plan.APIServerDir, 0o700, "")
	const name = "encryption"
	key := fmt.Sprintf("g%d", t.Public.Generation(name))
	t.addSecret(plan.Encryption, "", name, func(b *pki.Bundle) []byte { return manifests.Encryption(t.Plan, key, b.EncryptionKey) },
		"how the API server writes Secrets to etcd")
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

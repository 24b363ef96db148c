package assembly

import (
	"fmt"

	"kiln/manifests"
	"kiln/pki"
	"kiln/render/plan"
)

// apiServer adds the settings that the API server reads from files.
func (t *tree) apiServer() error {
	if !t.m.ControlPlane() {
		return nil
	}
	t.dir(plan.APIServerDir, 0o700, "")
	const name = "encryption"
	key := fmt.Sprintf("g%d", t.Public.Generation(name))
	t.secret(plan.Encryption, "", name, func(b *pki.Bundle) []byte { return manifests.Encryption(t.Plan, key, b.EncryptionKey) },
		"how the API server writes Secrets to etcd")
	if t.Plan.Hardened() {
		t.dir(plan.AuditDir, 0o700, "")
	}
	settings, err := t.APIServerSettings(t.m, nil)
	if err != nil {
		return err
	}
	for path, doc := range settings {
		t.file(path, 0o600, string(doc), "settings of the API server")
	}
	return nil
}

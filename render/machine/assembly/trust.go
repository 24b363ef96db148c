package assembly

import (
	"bytes"
	"fmt"
	"path"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// addTrust adds the certificates of CAs, and the certificates and keys of this machine. A worker
// gets the cluster's CA certificate and two pairs of its own, an etcd machine etcd's CA certificate
// and two pairs of its member. Neither gets more, but a key for packets of pods.
func (t *tree) addTrust() error {
	m := t.m
	t.addDir(plan.KubernetesDir, 0o755, "")
	t.addDir(plan.KubeletDir, 0o700, "")
	t.addDir(plan.KubeletPKI, 0o700, "")
	if m.Joins() {
		t.addDir(plan.PKIDir, 0o700, "") // also while cloud-init writes what is in it
		t.addTrusted(plan.CACert, "", pki.CA, "the cluster's CA")
	}
	if m.ControlPlane() {
		if t.Plan.OnlineSigning {
			t.addAuthorities(plan.CASigning, "", t.Public.Trusted(pki.CA)[:1], "the CA that signs")
			t.addSecret(plan.CAKey, "", "ca", func(b *pki.Bundle) []byte {
				return b.IssuerKey(pki.CA).BarePEM()
			}, "signs certificate requests, in the controller-manager")
		}
		t.addTrusted(plan.FrontProxyCA, "", pki.FrontProxyCA, "CA of the API aggregation layer")
		t.addServiceAccountKeys()
		t.addEtcdClientTrust()
	}
	if m.EtcdMember {
		t.addEtcdMemberTrust()
	}
	for _, spec := range t.Public.Specs(t.Plan, m) {
		if err := t.addPair(spec); err != nil {
			return err
		}
	}
	return nil
}

// addServiceAccountKeys adds the key that signs service account tokens, and the public keys that
// verify them, in one file. They are missing without the bundle: its public half has none.
func (t *tree) addServiceAccountKeys() {
	const name = string(pki.RootServiceAccount)
	t.addSecret(plan.ServiceKey, "", name, func(b *pki.Bundle) []byte {
		return b.ServiceAccountKeys()[0].BarePEM()
	}, "signs service account tokens")
	f := node.File{Path: plan.ServicePub, Mode: 0o600, Why: "verifies service account tokens"}
	for _, generation := range t.Public.Rotation(pki.RootServiceAccount).Generations() {
		f.Shown = append(f.Shown, fmt.Sprintf("<public key of %s g%d>", name, generation))
	}
	if t.Bundle != nil {
		for _, key := range t.Bundle.ServiceAccountKeys() {
			f.Content = append(f.Content, key.PublicPEM()...)
		}
		f.Content = append(f.Content, t.Public.AcceptedKeys()...)
	}
	for i := range bytes.Count(t.Public.AcceptedKeys(), []byte("-----BEGIN")) {
		f.Shown = append(f.Shown, AcceptedShown(i))
	}
	t.n.Files = append(t.n.Files, f)
}

// AcceptedShown stands in the review for the i-th public key that was imported to verify tokens.
func AcceptedShown(i int) string {
	return fmt.Sprintf("<public key %d from before the import>", i+1)
}

// addPair adds a certificate with its key: as two files, or as one if spec names one path for both.
func (t *tree) addPair(spec pki.Spec) error {
	template, err := t.Public.Template(spec)
	if err != nil {
		return err
	}
	shown := []string{"certificate " + t.Public.Mark(spec.Name) + ": " + pki.Summary(template)}
	for _, parent := range t.Public.Sent(spec) {
		shown = append(shown, "certificate: "+pki.Summary(parent))
	}
	var cert *pki.Certificate
	if t.Bundle != nil {
		if cert, err = t.Bundle.IssueUnverified(spec); err != nil {
			return err
		}
	}
	if spec.CertPath == spec.KeyPath {
		t.addSecret(spec.CertPath, spec.Owner, spec.Name, func(*pki.Bundle) []byte {
			return cert.BothPEM()
		}, "certificate and key of "+spec.Base, shown...)
		// The kubelet rotates its certificate by pointing this link elsewhere, and fails if a
		// regular file is there (updateSymlink in kubernetes/client-go 99b76eb:
		// util/certificate/certificate_store.go).
		t.n.Links = append(t.n.Links, node.Link{
			Path: plan.KubeletCurrent, Target: path.Base(spec.CertPath),
		})
		return nil
	}
	f := node.File{
		Path: spec.CertPath, Mode: 0o644, Why: "certificate of " + spec.Base, Shown: shown,
	}
	f.User, f.Group = t.owner(spec.Owner)
	if cert != nil {
		f.Content = cert.CertPEM()
	}
	t.n.Files = append(t.n.Files, f)
	t.addSecret(spec.KeyPath, spec.Owner, spec.Name, func(*pki.Bundle) []byte {
		return cert.Key.BarePEM()
	}, "key of "+spec.Base)
	return nil
}

// addEtcdClientTrust adds the files by which the API server trusts etcd: etcd's CA certificate and,
// for an external etcd, the client certificate and key that the configuration names.
func (t *tree) addEtcdClientTrust() {
	c := t.Plan.Config
	ext := c.Spec.ControlPlane.Etcd.External
	if ext == nil {
		t.addTrusted(plan.EtcdCA, "", pki.EtcdCA, "CA of etcd, for the API server")
		return
	}
	const external = "controlPlane.etcd.external"
	crt, key := plan.Cert("apiserver-etcd-client")
	t.addFile(plan.EtcdCA, 0o644, string(c.Text(ext.CAFrom)),
		"CA of the external etcd", external+".caFrom")
	t.addFile(crt, 0o644, string(c.Text(ext.CertFrom)),
		"the API server's certificate for the external etcd", external+".certFrom")
	t.n.Files = append(t.n.Files, node.File{ // #nosec G101 -- the kind of a secret
		Path: key, Mode: 0o600, Content: c.Text(ext.KeyFrom), Secret: "external-etcd-client",
		Why: "key of that certificate", From: []string{external + ".keyFrom"},
	})
}

// addEtcdMemberTrust adds etcd's CA certificate, its user and the folders of a member. addTrust
// adds the member's certificates.
func (t *tree) addEtcdMemberTrust() {
	if etcd := t.m.System.Etcd; !etcd.Image {
		t.n.Users = append(t.n.Users, node.User{
			Name: plan.EtcdUser, ID: etcd.UID, Home: plan.EtcdData,
		})
	}
	t.addDir("/etc/etcd", 0o755, "")
	t.addDir(plan.EtcdPKIDir, 0o700, plan.EtcdUser)
	t.addDir(plan.EtcdData, 0o700, plan.EtcdUser)
	t.addTrusted(plan.EtcdOwnCA, plan.EtcdUser, pki.EtcdCA, "CA of etcd, for its members")
}

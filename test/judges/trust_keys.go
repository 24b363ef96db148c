package judges

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/client-go/util/keyutil"
)

// sharedKeys are the keys that all control planes have; every other is on one machine.
var sharedKeys = []string{"/etc/kubernetes/pki/ca.key", "/etc/kubernetes/pki/sa.key"}

// registryKey matches the client certificate and key of a registry in a file hosts.toml.
var registryKey = regexp.MustCompile(`(?m)^client = \[\["[^"]+", "([^"]+)"\]\]$`)

// privateKeys checks that every private key on a machine is used there and is on no other machine.
// A worker has only the key of its kubelet, an etcd machine only those of its member.
func (t *trust) privateKeys() {
	var used []string
	for _, c := range t.credentialsOf(t.at) {
		used = append(used, t.at.linkTarget(c.key))
	}
	own := slices.Clone(sharedKeys)
	if t.at.ControlPlane() {
		used = append(used, own...)
		if len(t.members) == 0 {
			external := t.option(t.at, "kube-apiserver", "etcd-keyfile")
			used, own = append(used, external), append(own, external)
		}
	}
	for _, f := range t.at.Files { // what containerd shows registries, on many machines
		for _, m := range registryKey.FindAllSubmatch(f.Content, -1) {
			if path.Base(f.Path) == "hosts.toml" {
				used, own = append(used, string(m[1])), append(own, string(m[1]))
			}
		}
	}
	for _, f := range t.at.Files {
		if !bytes.Contains(f.Content, []byte("PRIVATE KEY-----")) {
			continue
		}
		if !slices.Contains(used, f.Path) {
			t.find("%s: nothing on this machine uses the private key", f.Path)
		}
		for _, other := range t.cluster {
			for _, g := range other.Files {
				if (other != t.at || g.Path != f.Path) && bytes.Equal(f.Content, g.Content) &&
					!slices.Contains(own, f.Path) {
					t.find("%s: the private key is also %s on %s", f.Path, g.Path, other.Name)
				}
			}
		}
	}
}

// shared checks that the secrets and CAs that make the machines one cluster are the same on all
// control planes, and that a worker has only the CA.
func (t *trust) shared() {
	for _, f := range t.first().Files {
		every := f.Path == "/etc/kubernetes/pki/ca.crt" && t.at.Joins()
		if !every && (!t.at.ControlPlane() || !isShared(f.Path)) {
			continue
		}
		if own := t.at.File(f.Path); own == nil || !bytes.Equal(own.Content, f.Content) {
			t.find("%s: it is not the one of %s", f.Path, t.first().Name)
		}
	}
	for _, f := range t.at.Files {
		switch {
		case !isShared(f.Path):
		case f.Path == ownEtcdCA && t.commands[t.at]["etcd"] != nil:
			etcd := t.first().File("/etc/kubernetes/pki/etcd/ca.crt")
			if etcd == nil || !bytes.Equal(etcd.Content, f.Content) {
				t.find("%s: it is not the one of the API servers", f.Path)
			}
		case t.first().File(f.Path) == nil:
			t.find("%s: %s has none", f.Path, t.first().Name)
		case !t.at.ControlPlane() && f.Path != "/etc/kubernetes/pki/ca.crt":
			t.find("%s: it is for control planes", f.Path)
		}
	}
}

// ownEtcdCA is the CA of etcd on the machines of its members.
const ownEtcdCA = "/etc/etcd/pki/ca.crt"

// isShared finds what all control planes have alike.
func isShared(file string) bool {
	switch dir := path.Dir(file); {
	case slices.Contains(sharedKeys, file), dir == objectsDir, dir == "/etc/kubernetes/apiserver":
		return true
	default:
		return strings.Contains(dir, "/pki") && strings.HasSuffix(file, "ca.crt") ||
			path.Base(file) == "sa.pub" || path.Base(file) == "ca-signing.crt"
	}
}

// authorities: each CA is its own, so that who can mint for one is nobody for the others.
func (t *trust) authorities() {
	seen := map[string]string{}
	for _, flag := range []string{"client-ca-file", "requestheader-client-ca-file", "etcd-cafile"} {
		file := t.option(t.at, "kube-apiserver", flag)
		block, _ := pem.Decode(t.content(file))
		if block == nil {
			t.find("--%s: %s holds no certificate", flag, file)
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil || !cert.IsCA {
			t.find("--%s: %s is no CA", flag, file)
			continue
		}
		if other, ok := seen[string(cert.RawSubjectPublicKeyInfo)]; ok {
			t.find("--%s: %s is the CA of --%s too", flag, file, other)
		}
		seen[string(cert.RawSubjectPublicKeyInfo)] = flag
	}
	ca, key := t.at.File("/etc/kubernetes/pki/ca.crt"), t.at.File("/etc/kubernetes/pki/ca.key")
	if key != nil {
		if _, err := tls.X509KeyPair(ca.Content, key.Content); err != nil {
			t.find("%s: %v", key.Path, err)
		}
	}
}

// serviceAccountKey: tokens are verified by the key that signs them.
func (t *trust) serviceAccountKey() {
	public, err := keyutil.ParsePublicKeysPEM(
		t.content(t.option(t.at, "kube-apiserver", "service-account-key-file")),
	)
	if err != nil {
		t.find("--service-account-key-file: %v", err)
		return
	}
	for _, signer := range []string{
		t.option(t.at, "kube-apiserver", "service-account-signing-key-file"),
		t.option(t.at, "kube-controller-manager", "service-account-private-key-file"),
	} {
		private, err := keyutil.ParsePrivateKeyPEM(t.content(signer))
		if err != nil {
			t.find("%s: %v", signer, err)
			continue
		}
		own := private.(crypto.Signer).Public().(interface{ Equal(crypto.PublicKey) bool })
		if !slices.ContainsFunc(public, func(key any) bool { return own.Equal(key) }) {
			t.find("%s: the API server does not know its public key", signer)
		}
	}
}

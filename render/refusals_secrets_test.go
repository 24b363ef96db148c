package render_test

import (
	"encoding/base64"
	"slices"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// treeRefusals has the rows for the tree of files and for secrets: which paths there may be, and
// who may read them.
var treeRefusals = []refusal{
	{name: "path twice", breaks: func(m *machine) {
		m.n.Files = append(m.n.Files, *m.file(plan.CACert))
	}, want: "file /etc/kubernetes/pki/ca.crt: the path is used twice"},
	{name: "relative path", breaks: func(m *machine) {
		m.n.Files = append(m.n.Files, node.File{Path: "etc/motd"})
	}, want: `file "etc/motd": not an absolute, clean path`},
	{name: "below a file", breaks: func(m *machine) {
		m.n.Files = append(m.n.Files, node.File{Path: "/etc/hostname/x"})
	}, want: "/etc/hostname/x: lies below /etc/hostname, which is a file"},
	{name: "mode", breaks: func(m *machine) {
		m.file("/etc/hostname").Mode = 0o4755
	}, want: "file /etc/hostname: mode 4755 has more than permission bits"},
	{name: "open secret", breaks: func(m *machine) {
		m.file(plan.CAKey).Mode = 0o640
	}, want: "file /etc/kubernetes/pki/ca.key: a secret that others may read (mode 0640)"},
	{name: "unmarked key", breaks: func(m *machine) {
		m.file(plan.CAKey).Secret = ""
	}, want: "file /etc/kubernetes/pki/ca.key: holds a private key and is not marked as a secret"},
	{name: "foreign secret on a worker", machine: "worker-1", breaks: func(m *machine) {
		m.mark("/etc/hostname", "ca g1")
	}, want: "file /etc/hostname: must not hold the secret ca g1: it is for control planes with " +
		"certificates.signing: online in /etc/kubernetes/pki/ca.key; remove it"},

	{name: "secret in another place", breaks: func(m *machine) {
		m.file(plan.CAKey).Path = plan.PKIDir + "/root.key"
	}, want: "file /etc/kubernetes/pki/root.key: must not hold the secret ca g1"},
	{name: "secret that is not there", breaks: func(m *machine) {
		m.remove(plan.PKIDir + "/install.key")
	}, want: "secret install/cp-1 g1: missing from /etc/kubernetes/pki/install.key; it is there " +
		"for the first boot"},
	{name: "secret of another generation", breaks: func(m *machine) {
		m.file(plan.ServiceKey).Secret = "service-account g2"
	}, want: "file /etc/kubernetes/pki/sa.key: must not hold the secret service-account g2"},
	{name: "secret that nobody knows", breaks: func(m *machine) {
		m.mark("/etc/hostname", "root-ca g1")
	}, want: "file /etc/hostname: must not hold the secret root-ca g1: the table of secrets does " +
		"not have it"},
	{name: "CA key in a file of the user's", machine: "worker-1", breaks: func(m *machine) {
		m.n.Files = append(m.n.Files, node.File{
			Path: "/etc/agent/key", Mode: 0o600,
			Secret: "file /etc/agent/key", Content: m.r.Bundle.CAKey.PEM(),
		})
	}, want: "file /etc/agent/key: holds the secret ca: it is for control planes"},
	{name: "encryption key that is not marked", machine: "worker-1", breaks: func(m *machine) {
		key := base64.StdEncoding.EncodeToString(m.r.Bundle.EncryptionKey)
		m.file("/etc/hostname").Content = []byte(key)
	}, want: "holds the secret encryption: it is for control planes in " +
		"/etc/kubernetes/apiserver/encryption.yaml; remove it"},
	{name: "leaf seed", breaks: func(m *machine) {
		seed := base64.StdEncoding.EncodeToString(m.r.Bundle.LeafSeed)
		m.file("/etc/hostname").Content = []byte(seed)
	}, want: "holds the secret leaf-seed: it is for no machine; remove it"},
	{name: "token that is not marked", cluster: "pools", machine: "large",
		breaks: func(m *machine) {
			f := m.file(hookMachine)
			token := m.r.Bundle.PoolToken("small").Bearer()
			f.Content = append(f.Content, "join='"+token+"'\n"...)
		}, want: "file /etc/kiln/machine: holds the secret token/small: it is for workers with a " +
			"pool's document in /etc/kubernetes/bootstrap-kubelet.conf"},
	{name: "token of another pool in its own place", cluster: "pools", machine: "large",
		breaks: func(m *machine) {
			m.edit(plan.BootstrapConf, m.r.Bundle.PoolToken("large").Bearer(),
				m.r.Bundle.PoolToken("small").Bearer())
		}, want: "file /etc/kubernetes/bootstrap-kubelet.conf: holds the secret token/small"},
	{name: "no token in its place", cluster: "pools", machine: "large", breaks: func(m *machine) {
		m.edit(plan.BootstrapConf, m.r.Bundle.PoolToken("large").Bearer(),
			"abcdef.0123456789abcdef")
	}, want: "file /etc/kubernetes/bootstrap-kubelet.conf: does not hold the secret token/large " +
		"g1, with which it is marked"},
	{name: "key and certificate of another control plane", breaks: func(m *machine) {
		other := goldenMachine(m.t, "ha", "cp-2")
		for _, name := range []string{"/apiserver.crt", "/apiserver.key"} {
			path := plan.PKIDir + name
			m.file(path).Content = other.file(path).Content
		}
	}, want: "file /etc/kubernetes/pki/apiserver.key: does not hold the key apiserver/cp-1 of " +
		"this machine"},
	{name: "a second key", machine: "worker-1", breaks: func(m *machine) {
		f := m.file(plan.KubeletPKI + "/kubelet.key")
		other := goldenMachine(m.t, "ha", "worker-2").file(f.Path)
		f.Content = slices.Concat(f.Content, other.Content)
	}, want: "file /var/lib/kubelet/pki/kubelet.key: holds 2 private keys, want the one of " +
		"kubelet-server/worker-1 g1"},
	{name: "another key of service accounts", breaks: func(m *machine) {
		m.file(plan.ServiceKey).Content = m.r.Bundle.FrontProxyCAKey.PEM()
		m.file(plan.ServicePub).Content = m.r.Bundle.FrontProxyCAKey.PublicPEM()
	}, want: "file /etc/kubernetes/pki/sa.key: does not hold the secret service-account g1, with " +
		"which it is marked"},
	{name: "token of another pool", cluster: "pools", machine: "large", breaks: func(m *machine) {
		m.file(plan.BootstrapConf).Secret = "token/small g1"
	}, want: "file /etc/kubernetes/bootstrap-kubelet.conf: must not hold the secret token/small " +
		"g1"},
}

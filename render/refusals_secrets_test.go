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
	{"path twice", "", func(m *machine) { m.n.Files = append(m.n.Files, *m.file(plan.CACert)) },
		"file /etc/kubernetes/pki/ca.crt: the path is used twice"},
	{"relative path", "",
		func(m *machine) { m.n.Files = append(m.n.Files, node.File{Path: "etc/motd"}) },
		`file "etc/motd": not an absolute, clean path`},
	{"below a file", "",
		func(m *machine) { m.n.Files = append(m.n.Files, node.File{Path: "/etc/hostname/x"}) },
		"/etc/hostname/x: lies below /etc/hostname, which is a file"},
	{"mode", "", func(m *machine) { m.file("/etc/hostname").Mode = 0o4755 },
		"file /etc/hostname: mode 4755 has more than permission bits"},
	{"open secret", "", func(m *machine) { m.file(plan.CAKey).Mode = 0o640 },
		"file /etc/kubernetes/pki/ca.key: a secret that others may read (mode 0640)"},
	{"unmarked key", "", func(m *machine) { m.file(plan.CAKey).Secret = "" },
		"file /etc/kubernetes/pki/ca.key: holds a private key and is not marked as a secret"},
	{"foreign secret on a worker", "ha/worker-1", mark("/etc/hostname", "ca g1"),
		"file /etc/hostname: must not hold the secret ca g1: it is for control planes with " +
			"certificates.signing: online in /etc/kubernetes/pki/ca.key; remove it"},
	{"secret in another place", "",
		func(m *machine) { m.file(plan.CAKey).Path = plan.PKIDir + "/root.key" },
		"file /etc/kubernetes/pki/root.key: must not hold the secret ca g1"},
	{"secret that is not there", "", remove(plan.PKIDir + "/install.key"),
		"secret install/cp-1 g1: missing from /etc/kubernetes/pki/install.key; it is there " +
			"for the first boot"},
	{"secret of another generation", "",
		func(m *machine) { m.file(plan.ServiceKey).Secret = "service-account g2" },
		"file /etc/kubernetes/pki/sa.key: must not hold the secret service-account g2"},
	{"secret that nobody knows", "", mark("/etc/hostname", "root-ca g1"),
		"file /etc/hostname: must not hold the secret root-ca g1: the table of secrets does " +
			"not have it"},
	{"CA key in a file of the user's", "ha/worker-1", func(m *machine) {
		m.n.Files = append(m.n.Files, node.File{
			Path: "/etc/agent/key", Mode: 0o600,
			Secret: "file /etc/agent/key", Content: m.r.Bundle.CAKey.PEM(),
		})
	}, "file /etc/agent/key: holds the secret ca: it is for control planes"},
	{"encryption key that is not marked", "ha/worker-1", func(m *machine) {
		key := base64.StdEncoding.EncodeToString(m.r.Bundle.EncryptionKey)
		m.file("/etc/hostname").Content = []byte(key)
	}, "holds the secret encryption: it is for control planes in " +
		"/etc/kubernetes/apiserver/encryption.yaml; remove it"},
	{"leaf seed", "", func(m *machine) {
		seed := base64.StdEncoding.EncodeToString(m.r.Bundle.LeafSeed)
		m.file("/etc/hostname").Content = []byte(seed)
	}, "holds the secret leaf-seed: it is for no machine; remove it"},
	{"token that is not marked", "pools/large", func(m *machine) {
		f := m.file(hookMachine)
		token := m.r.Bundle.PoolToken("small").Bearer()
		f.Content = append(f.Content, "join='"+token+"'\n"...)
	}, "file /etc/kiln/machine: holds the secret token/small: it is for workers with a pool's " +
		"document in /etc/kubernetes/bootstrap-kubelet.conf"},
	{"token of another pool in its own place", "pools/large", func(m *machine) {
		m.edit(plan.BootstrapConf, m.r.Bundle.PoolToken("large").Bearer(),
			m.r.Bundle.PoolToken("small").Bearer())
	}, "file /etc/kubernetes/bootstrap-kubelet.conf: holds the secret token/small"},
	{"no token in its place", "pools/large", func(m *machine) {
		m.edit(plan.BootstrapConf, m.r.Bundle.PoolToken("large").Bearer(),
			"abcdef.0123456789abcdef")
	}, "file /etc/kubernetes/bootstrap-kubelet.conf: does not hold the secret token/large " +
		"g1, with which it is marked"},
	{"key and certificate of another control plane", "", func(m *machine) {
		other := goldenMachine(m.t, "ha", "cp-2")
		for _, name := range []string{"/apiserver.crt", "/apiserver.key"} {
			path := plan.PKIDir + name
			m.file(path).Content = other.file(path).Content
		}
	}, "file /etc/kubernetes/pki/apiserver.key: does not hold the key apiserver/cp-1 of this " +
		"machine"},
	{"a second key", "ha/worker-1", func(m *machine) {
		f := m.file(plan.KubeletPKI + "/kubelet.key")
		other := goldenMachine(m.t, "ha", "worker-2").file(f.Path)
		f.Content = slices.Concat(f.Content, other.Content)
	}, "file /var/lib/kubelet/pki/kubelet.key: holds 2 private keys, want the one of " +
		"kubelet-server/worker-1 g1"},
	{"another key of service accounts", "", func(m *machine) {
		m.file(plan.ServiceKey).Content = m.r.Bundle.FrontProxyCAKey.PEM()
		m.file(plan.ServicePub).Content = m.r.Bundle.FrontProxyCAKey.PublicPEM()
	}, "file /etc/kubernetes/pki/sa.key: does not hold the secret service-account g1, with " +
		"which it is marked"},
	{"token of another pool", "pools/large",
		func(m *machine) { m.file(plan.BootstrapConf).Secret = "token/small g1" },
		"file /etc/kubernetes/bootstrap-kubelet.conf: must not hold the secret token/small g1"},
}

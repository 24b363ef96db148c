package render_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
)

// machine is a rendered machine of a golden case, which a test breaks.
type machine struct {
	t *testing.T
	r *render.Cluster
	m *plan.Machine
	n *node.Node
}

// rendered returns a machine of a cluster.
func rendered(t *testing.T, r *render.Cluster, name string) *machine {
	t.Helper()
	i := machineNamed(t, r, name)
	n, err := r.Node(i)
	require.NoError(t, err)
	return &machine{t, r, &r.Plan.Machines[i], n}
}

// goldenMachine returns a machine of a golden case. The cluster is shared and must not be changed.
func goldenMachine(t *testing.T, cluster, name string) *machine {
	t.Helper()
	r := load(t, cluster)
	i := machineNamed(t, r, name)
	return &machine{t, r, &r.Plan.Machines[i], clone(nodes(t, cluster)[i])}
}

// machineNamed returns the index of a machine in the plan.
func machineNamed(t *testing.T, r *render.Cluster, name string) int {
	t.Helper()
	i := slices.IndexFunc(r.Plan.Machines, func(m plan.Machine) bool { return m.Name == name })
	require.GreaterOrEqual(t, i, 0, "no machine %s", name)
	return i
}

// check checks the machine as every run does.
func (m *machine) check() error { return m.r.Check(m.m, m.n) }

// file returns one of the machine's files.
func (m *machine) file(path string) *node.File {
	m.t.Helper()
	f := m.n.File(path)
	require.NotNil(m.t, f, path)
	return f
}

// mark marks a file as a secret.
func (m *machine) mark(path, secret string) {
	m.t.Helper()
	f := m.file(path)
	f.Secret, f.Mode = secret, 0o600
}

// edit replaces text in a file, everywhere.
func (m *machine) edit(path, from, to string) {
	m.t.Helper()
	f := m.file(path)
	require.Contains(m.t, string(f.Content), from)
	f.Content = bytes.ReplaceAll(f.Content, []byte(from), []byte(to))
}

// pod replaces text in a static pod.
func (m *machine) pod(name, from, to string) {
	m.t.Helper()
	m.edit(plan.ManifestsDir+"/"+name+".yaml", from, to)
}

// remove takes a file off the machine.
func (m *machine) remove(path string) {
	m.t.Helper()
	f := m.file(path)
	f.Path = m.n.Files[len(m.n.Files)-1].Path
	*f = m.n.Files[len(m.n.Files)-1]
	m.n.Files = m.n.Files[:len(m.n.Files)-1]
}

// swap exchanges the contents of two files.
func (m *machine) swap(a, b string) {
	m.t.Helper()
	x, y := m.file(a), m.file(b)
	x.Content, y.Content = y.Content, x.Content
}

// give gives a directory to a user.
func (m *machine) give(dir, user string) {
	m.t.Helper()
	for i := range m.n.Dirs {
		if m.n.Dirs[i].Path == dir {
			m.n.Dirs[i].User, m.n.Dirs[i].Group = user, user
			return
		}
	}
	require.FailNow(m.t, "no directory "+dir)
}

// reissue changes the specification of one of the machine's certificates and signs it again.
func (m *machine) reissue(base string, change func(*pki.Spec)) {
	m.t.Helper()
	for _, spec := range m.r.Bundle.Specs(m.r.Plan, m.m) {
		if spec.Base == base {
			change(&spec)
			cert, err := m.r.Bundle.Issue(spec)
			require.NoError(m.t, err)
			m.file(spec.CertPath).Content = cert.CertPEM()
			return
		}
	}
	require.FailNow(m.t, "no certificate "+base)
}

// without returns a change of objects that drops those of a kind whose names begin like this.
func without(kind, name string) func([]manifests.Object) []manifests.Object {
	return func(objects []manifests.Object) (out []manifests.Object) {
		for _, o := range objects {
			if o.Kind != kind || !strings.HasPrefix(o.Name, name) {
				out = append(out, o)
			}
		}
		return out
	}
}

// replaced returns a change of objects that replaces a text in one of them.
func replaced(kind, name, from, to string) func([]manifests.Object) []manifests.Object {
	return func(objects []manifests.Object) []manifests.Object {
		for i, o := range objects {
			if o.Kind == kind && o.Name == name {
				read, err := manifests.Read(bytes.ReplaceAll(o.YAML, []byte(from), []byte(to)))
				if err != nil {
					panic(err)
				}
				objects[i] = read[0]
			}
		}
		return objects
	}
}

const (
	etcdKey     = plan.EtcdPKIDir + "/server.key"
	dropIn      = "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf"
	hookMachine = plan.KilnDir + "/machine"
)

// refusal is one row of TestCheckRefuses: a machine of a golden case, what is broken on it, and the
// error of Check. The machine is cp-1 of the case ha, unless the row names another.
type refusal struct {
	name    string
	cluster string
	machine string
	fresh   bool // breaks changes the cluster too
	objects func([]manifests.Object) []manifests.Object
	breaks  func(m *machine)
	want    string
}

// TestCheckRefuses has one row for each condition that Check holds a machine to. The rows stand in
// the files refusals_*_test.go.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range slices.Concat(
		treeRefusals, etcdRefusals, endpointRefusals, nameRefusals, trustRefusals,
		rightRefusals, fileRefusals, portRefusals, imageRefusals, networkRefusals,
	) {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := broken(t, row.cluster, row.machine, row.fresh, row.objects, row.breaks)
			err := m.check()
			require.ErrorContains(t, err, row.want)
			for line := range strings.SplitSeq(err.Error(), "\n") {
				named := strings.HasPrefix(line, "node ") || strings.HasPrefix(line, "pool ")
				require.True(t, named, "%q names no machine", line)
			}
			requireNoSecret(t, m, err)
		})
	}
}

// TestCheckAccepts: Check accepts what only the user can judge.
func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		cluster string
		machine string
		objects func([]manifests.Object) []manifests.Object
		breaks  func(m *machine)
	}{
		{name: "as rendered"},
		{name: "file of the image", breaks: func(m *machine) {
			m.pod("kube-apiserver", "--profiling=false", "--audit-webhook-config-file=/usr/share/a")
		}},
		{name: "file of the machine", breaks: func(m *machine) {
			m.pod("kube-apiserver", "--profiling=false", "--tracing-config-file=/etc/ssl/certs/o")
		}},
		{name: "file of another user", breaks: func(m *machine) {
			m.n.Files = append(m.n.Files, node.File{
				Path: "/etc/ssl/certs/o", Mode: 0o600, User: "idp", Group: "idp",
			})
			m.pod("kube-apiserver", "--profiling=false", "--tracing-config-file=/etc/ssl/certs/o")
		}},
		{name: "file of the pod's group", breaks: func(m *machine) {
			f := m.file(plan.EtcdOwnCA)
			f.User, f.Mode = "root", 0o640
		}},
		{name: "a pod that may do everything", breaks: func(m *machine) {
			m.file(plan.Encryption).User = "232"
			m.pod("kube-apiserver", "      allowPrivilegeEscalation: false\n",
				"      privileged: true\n")
		}},
		{name: "paths of URLs", breaks: func(m *machine) {
			m.pod("kube-scheduler", "--profiling=false",
				"--authorization-always-allow-paths=/healthz,/livez")
		}},
		{name: "audit log on standard output", breaks: func(m *machine) {
			m.pod("kube-apiserver", "--audit-log-path=/var/log/kubernetes/audit.log",
				"--audit-log-path=-")
		}},
		{name: "flags in two words", breaks: func(m *machine) {
			m.pod("kube-scheduler", "--kubeconfig=/", "--kubeconfig\n    - /")
		}},
		{name: "a program that starts another", breaks: func(m *machine) {
			m.pod("kube-scheduler", "    - kube-scheduler\n", "    - /bin/wrapper\n")
			m.pod("kube-scheduler", "--bind-address=127.0.0.1", "--bind-address=10.0.0.11")
		}},
		{name: "a sidecar", breaks: func(m *machine) {
			m.pod("kube-scheduler", "  containers:\n",
				"  containers:\n  - {name: agent, image: agent, ports: [{containerPort: 9000}]}\n")
		}},
		{name: "a sidecar that sees the whole machine", breaks: func(m *machine) {
			m.pod("kube-scheduler",
				"  containers:\n",
				"  containers:\n  - {name: agent, image: agent, "+
					"args: [--dir=/host/etc/kubernetes], "+
					"volumeMounts: [{name: host, mountPath: /host}]}\n")
			m.pod("kube-scheduler", "  volumes:\n",
				"  volumes:\n  - {name: host, hostPath: {path: /}}\n")
		}},
		{name: "another static pod", breaks: func(m *machine) {
			m.n.Files = append(m.n.Files, node.File{
				Path: plan.ManifestsDir + "/kube-vip.yaml", Mode: 0o600,
				Content: []byte("{apiVersion: v1, kind: Pod, metadata: {name: kube-vip}, " +
					"spec: {hostNetwork: true, " +
					"containers: [{name: kube-vip, image: kube-vip, command: [kube-vip]}]}}"),
			})
		}},
		{name: "a flag that quotes others", machine: "worker-1", breaks: func(m *machine) {
			m.edit(dropIn, "--node-ip=10.0.0.21",
				"--node-ip=10.0.0.21 \\\n  \"--v=a \\\"b --node-ip=10.0.0.99\"")
		}},
		{name: "probes of all addresses", breaks: func(m *machine) {
			m.pod("kube-scheduler", "--bind-address=127.0.0.1", "--bind-address=0.0.0.0")
		}},
		{name: "a resolver on each machine", machine: "worker-1", breaks: func(m *machine) {
			m.edit(plan.KubeletConfig, "10.96.0.10", "169.254.20.10")
		}},
		{name: "an old and a new key of service accounts", breaks: func(m *machine) {
			m.n.Files = append(m.n.Files, node.File{
				Path: plan.PKIDir + "/old.pub", Mode: 0o600, Content: m.r.Bundle.CAKey.PublicPEM(),
			})
			m.pod("kube-apiserver",
				"    - --service-account-key-file=",
				"    - --service-account-key-file=/etc/kubernetes/pki/old.pub\n"+
					"    - --service-account-key-file=")
		}},
		{name: "an old and a new CA", breaks: func(m *machine) {
			f := m.file(plan.CACert)
			f.Content = append(m.r.Bundle.EtcdCA.PEM(), f.Content...)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := broken(t, row.cluster, row.machine, false, row.objects, row.breaks)
			require.NoError(t, m.check())
		})
	}
}

// broken breaks a machine, cp-1 of the case ha unless the row names another. The cluster is shared,
// unless it is changed.
func broken(
	t *testing.T, cluster, name string, changed bool,
	objects func([]manifests.Object) []manifests.Object, breaks func(*machine),
) *machine {
	t.Helper()
	cluster, name = cmp.Or(cluster, "ha"), cmp.Or(name, "cp-1")
	var m *machine
	if changed || objects != nil {
		r := fresh(t, cluster)
		if objects != nil {
			r.EditObjects(objects)
		}
		m = rendered(t, r, name)
	} else {
		m = goldenMachine(t, cluster, name)
	}
	if breaks != nil {
		breaks(m)
	}
	return m
}

// requireNoSecret holds a message to have no line of a file that is a secret.
func requireNoSecret(t *testing.T, m *machine, err error) {
	t.Helper()
	for _, f := range m.n.Files {
		if f.Secret == "" || !strings.Contains(string(f.Content), "PRIVATE KEY") {
			continue
		}
		for line := range strings.Lines(string(f.Content)) {
			if !strings.HasPrefix(line, "-----") {
				require.NotContains(t, err.Error(), strings.TrimSpace(line))
			}
		}
	}
	require.NotContains(t, err.Error(), m.r.Bundle.PoolToken("large").Secret)
	require.NotContains(t, err.Error(), fmt.Sprintf("%x", []byte(m.r.Bundle.EncryptionKey)))
}

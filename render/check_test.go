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
	t       *testing.T
	r       *render.Cluster
	m       *plan.Machine
	n       *node.Node
	cluster string // the golden case
}

// rendered returns a machine of a cluster.
func rendered(t *testing.T, r *render.Cluster, name string) *machine {
	t.Helper()
	i := machineNamed(t, r, name)
	n, err := r.Node(i)
	require.NoError(t, err)
	return &machine{t: t, r: r, m: &r.Plan.Machines[i], n: n}
}

// goldenMachine returns a machine of a golden case. The cluster is shared and must not be changed.
func goldenMachine(t *testing.T, cluster, name string) *machine {
	t.Helper()
	r := load(t, cluster)
	i := machineNamed(t, r, name)
	return &machine{t, r, &r.Plan.Machines[i], clone(nodes(t, cluster)[i]), cluster}
}

// machineNamed returns the index of a machine in the plan.
func machineNamed(t *testing.T, r *render.Cluster, name string) int {
	t.Helper()
	i := slices.IndexFunc(r.Plan.Machines, func(m plan.Machine) bool { return m.Name == name })
	require.GreaterOrEqual(t, i, 0, "no machine %s", name)
	return i
}

// own makes the machine one of a cluster that may be changed.
func (m *machine) own() { *m = *rendered(m.t, fresh(m.t, m.cluster), m.n.Name) }

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

// api returns a fault of the objects that the API server is to hold. The machine is then one of a
// cluster of its own.
func api(edit func(o *manifests.Object) (keep bool)) func(*machine) {
	return func(m *machine) {
		m.own()
		m.r.EditObjects(func(objects []manifests.Object) (out []manifests.Object) {
			for _, o := range objects {
				if edit(&o) {
					out = append(out, o)
				}
			}
			return out
		})
		*m = *rendered(m.t, m.r, m.n.Name)
	}
}

// withoutObject drops the objects of a kind whose names begin like this.
func withoutObject(kind, name string) func(*machine) {
	return api(func(o *manifests.Object) bool {
		return o.Kind != kind || !strings.HasPrefix(o.Name, name)
	})
}

// editObject replaces a text in one of the objects.
func editObject(kind, name, from, to string) func(*machine) {
	return api(func(o *manifests.Object) bool {
		if o.Kind == kind && o.Name == name {
			read, err := manifests.Read(bytes.ReplaceAll(o.YAML, []byte(from), []byte(to)))
			if err != nil {
				panic(err)
			}
			*o = read[0]
		}
		return true
	})
}

// Faults of a machine, by the methods of their names.
func edit(path, from, to string) func(*machine) {
	return func(m *machine) { m.edit(path, from, to) }
}
func pod(name, from, to string) func(*machine) { return func(m *machine) { m.pod(name, from, to) } }
func mark(path, secret string) func(*machine)  { return func(m *machine) { m.mark(path, secret) } }
func remove(path string) func(*machine)        { return func(m *machine) { m.remove(path) } }
func swap(a, b string) func(*machine)          { return func(m *machine) { m.swap(a, b) } }
func give(dir, user string) func(*machine)     { return func(m *machine) { m.give(dir, user) } }
func reissue(base string, change func(*pki.Spec)) func(*machine) {
	return func(m *machine) { m.reissue(base, change) }
}

const (
	etcdKey     = plan.EtcdPKIDir + "/server.key"
	dropIn      = "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf"
	hookMachine = plan.KilnDir + "/machine"
)

// refusal is one row of TestCheckRefuses: a machine of a golden case, what is broken on it, and the
// error of Check. The machine is cp-1 of the case ha, unless the row names another as CASE/MACHINE.
type refusal struct {
	name   string
	on     string
	breaks func(m *machine)
	want   string
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
			m := broken(t, row.on, row.breaks)
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
	for _, row := range []refusal{
		{"as rendered", "", func(*machine) {}, ""},
		{"file of the image", "",
			pod("kube-apiserver", "--profiling=false",
				"--audit-webhook-config-file=/usr/share/a"), ""},
		{"file of the machine", "",
			pod("kube-apiserver", "--profiling=false",
				"--tracing-config-file=/etc/ssl/certs/o"), ""},
		{"file of another user", "", func(m *machine) {
			m.n.Files = append(m.n.Files, node.File{
				Path: "/etc/ssl/certs/o", Mode: 0o600, User: "idp", Group: "idp",
			})
			m.pod("kube-apiserver", "--profiling=false", "--tracing-config-file=/etc/ssl/certs/o")
		}, ""},
		{"file of the pod's group", "", func(m *machine) {
			f := m.file(plan.EtcdOwnCA)
			f.User, f.Mode = "root", 0o640
		}, ""},
		{"a pod that may do everything", "", func(m *machine) {
			m.file(plan.Encryption).User = "232"
			m.pod("kube-apiserver", "      allowPrivilegeEscalation: false\n",
				"      privileged: true\n")
		}, ""},
		{"paths of URLs", "", pod("kube-scheduler", "--profiling=false",
			"--authorization-always-allow-paths=/healthz,/livez"), ""},
		{"audit log on standard output", "", pod("kube-apiserver",
			"--audit-log-path=/var/log/kubernetes/audit.log", "--audit-log-path=-"), ""},
		{"flags in two words", "", pod("kube-scheduler", "--kubeconfig=/", "--kubeconfig\n    - /"),
			""},
		{"a program that starts another", "", func(m *machine) {
			m.pod("kube-scheduler", "    - kube-scheduler\n", "    - /bin/wrapper\n")
			m.pod("kube-scheduler", "--bind-address=127.0.0.1", "--bind-address=10.0.0.11")
		}, ""},
		{"a sidecar", "", pod("kube-scheduler", "  containers:\n",
			"  containers:\n  - {name: agent, image: agent, ports: [{containerPort: 9000}]}\n"),
			""},
		{"a sidecar that sees the whole machine", "", func(m *machine) {
			m.pod("kube-scheduler",
				"  containers:\n",
				"  containers:\n  - {name: agent, image: agent, "+
					"args: [--dir=/host/etc/kubernetes], "+
					"volumeMounts: [{name: host, mountPath: /host}]}\n")
			m.pod("kube-scheduler", "  volumes:\n",
				"  volumes:\n  - {name: host, hostPath: {path: /}}\n")
		}, ""},
		{"another static pod", "", func(m *machine) {
			m.n.Files = append(m.n.Files, node.File{
				Path: plan.ManifestsDir + "/kube-vip.yaml", Mode: 0o600,
				Content: []byte("{apiVersion: v1, kind: Pod, metadata: {name: kube-vip}, " +
					"spec: {hostNetwork: true, " +
					"containers: [{name: kube-vip, image: kube-vip, command: [kube-vip]}]}}"),
			})
		}, ""},
		{"a flag that quotes others", "ha/worker-1", edit(dropIn, "--node-ip=10.0.0.21",
			"--node-ip=10.0.0.21 \\\n  \"--v=a \\\"b --node-ip=10.0.0.99\""), ""},
		{"probes of all addresses", "",
			pod("kube-scheduler", "--bind-address=127.0.0.1", "--bind-address=0.0.0.0"), ""},
		{"a resolver on each machine", "ha/worker-1",
			edit(plan.KubeletConfig, "10.96.0.10", "169.254.20.10"), ""},
		{"an old and a new key of service accounts", "", func(m *machine) {
			m.n.Files = append(m.n.Files, node.File{
				Path: plan.PKIDir + "/old.pub", Mode: 0o600, Content: m.r.Bundle.CAKey.PublicPEM(),
			})
			m.pod("kube-apiserver",
				"    - --service-account-key-file=",
				"    - --service-account-key-file=/etc/kubernetes/pki/old.pub\n"+
					"    - --service-account-key-file=")
		}, ""},
		{"an old and a new CA", "", func(m *machine) {
			f := m.file(plan.CACert)
			f.Content = append(m.r.Bundle.EtcdCA.PEM(), f.Content...)
		}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := broken(t, row.on, row.breaks)
			require.NoError(t, m.check())
		})
	}
}

// broken breaks a machine.
func broken(t *testing.T, on string, breaks func(*machine)) *machine {
	t.Helper()
	cluster, name, _ := strings.Cut(cmp.Or(on, "ha/cp-1"), "/")
	m := goldenMachine(t, cluster, name)
	breaks(m)
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

package judges

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/test/judges/cis"
	"kiln.dev/kiln/test/judges/machine"
)

// record is what a machine says of itself after its boot.
type record struct {
	facts   machine.Machine
	kubelet map[string]any   // its configuration
	objects []map[string]any // of the cluster
}

// recordOf returns the record of a machine that became what its document says.
func recordOf(t *testing.T, m *Machine) *record {
	t.Helper()
	r := &record{facts: machine.Machine{Booted: &machine.Booted{}}}
	for i, name := range components {
		if command := m.Command(name); command != nil {
			r.facts.Booted.Processes = append(r.facts.Booted.Processes,
				machine.Process{ID: 100 + i, Command: command})
		}
	}
	for i, list := range [][]File{m.Dirs, m.Files} {
		for _, f := range list {
			f.User, f.Group = m.Owners(&f)
			if f.Path != settings+"encryption.yaml" {
				f.Content = nil
			}
			if i == 0 {
				r.facts.Dirs = append(r.facts.Dirs, f)
			} else {
				r.facts.Files = append(r.facts.Files, f)
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(m.File(kubeletConfig).Content, &r.kubelet))
	for _, f := range append(m.Under(manifestsDir), m.Under(objectsDir)...) {
		var object map[string]any
		if yaml.Unmarshal(f.Content, &object) == nil && object["kind"] != nil {
			r.objects = append(r.objects, object)
		}
	}
	return r
}

// write writes the record as test/boot does, and returns its folder.
func (r *record) write(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, value := range map[string]any{
		"facts":   &r.facts,
		"kubelet": map[string]any{"kubeletconfig": r.kubelet},
		"objects": map[string]any{"items": r.objects},
	} {
		text, err := json.Marshal(value)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	return folder
}

// TestBooted: a machine that became what its document says has the same verdicts.
func TestBooted(t *testing.T) {
	t.Parallel()
	once(t)
	for _, name := range []string{"single", "ha", "etcd-machines"} {
		for _, m := range cluster(t, name, "ignition") {
			booted, err := machine.AfterBoot(&m.Machine, recordOf(t, m).write(t))
			require.NoError(t, err)
			verdicts, faults := cis.Compare(&m.Machine, booted)
			assert.Empty(t, faults)
			assert.Len(t, verdicts, len(cis.Evaluate(&m.Machine)))
		}
	}
}

// TestBootedSees: each difference between a machine and its document is found.
func TestBootedSees(t *testing.T) {
	t.Parallel()
	once(t)
	for name, tt := range map[string]struct {
		change func(*record)
		says   string // part of a fault, or of an error
	}{
		"nothing": {func(*record) {}, ""},
		"key that all can read": {func(r *record) {
			r.facts.File(pki + "apiserver.key").Mode = 0o644
		}, "CIS 1.1.21: the document says PASS, the machine WARN"},
		"etcd's data of root": {func(r *record) {
			r.facts.Dir("/var/lib/etcd").User = "root"
		}, "CIS 1.1.12 FAIL: /var/lib/etcd is root:etcd"},
		"CA of a number": {func(r *record) {
			r.facts.File(pki + "ca.crt").User = "1000"
		}, "CIS 1.1.19 FAIL: " + pki + "ca.crt is 1000:root"},
		"drop-in that all can read": {func(r *record) {
			r.facts.File(kubeletDropIn).Mode = 0o644
		}, "CIS 4.1.1: the document says PASS, the machine FAIL"},
		"file that is gone": {func(r *record) {
			r.facts.Files = slices.DeleteFunc(r.facts.Files,
				func(f File) bool { return f.Path == "/etc/kubernetes/proxy.conf" })
		}, "CIS 4.1.3: the document says PASS, the machine WARN"},
		"lease that all can read": {func(r *record) {
			r.facts.File("/var/lib/cni/networks/cbr0/lock").Mode = 0o644
		}, "CIS 1.1.9 WARN: /var/lib/cni/networks/cbr0/lock is 644"},
		"address of a pod that all can read": {func(r *record) {
			r.facts.Files = append(r.facts.Files, File{
				Path: "/var/lib/cni/networks/cbr0/10.244.0.2", Mode: 0o644,
				User: "root", Group: "root",
			})
		}, ""},
		"process without a flag": {func(r *record) {
			r.drop("kube-apiserver", "--profiling=false")
		}, "CIS 1.2.15: the document says PASS, the machine FAIL"},
		"second API server without a flag": {func(r *record) {
			r.facts.Booted.Processes = append(r.facts.Booted.Processes,
				machine.Process{ID: 999, Command: []string{"/bin/kube-apiserver"}})
		}, "CIS 1.2.16 FAIL: kube-apiserver --audit-log-path is not set"},
		"kubelet with a flag more": {func(r *record) {
			r.add("kubelet", "--anonymous-auth=true")
		}, "CIS 4.2.1 FAIL: kubelet --anonymous-auth is true"},
		"kube-proxy with a flag more": {func(r *record) {
			r.add("kube-proxy", "--metrics-bind-address=0.0.0.0")
		}, "CIS 4.3.1 FAIL"},
		"kubelet that reads another file": {func(r *record) {
			r.kubelet["readOnlyPort"] = 10255
		}, "CIS 4.2.4 WARN: kubelet /configz: readOnlyPort is 10255"},
		"Secrets in the clear": {func(r *record) {
			r.facts.File(settings + "encryption.yaml").Content = []byte(
				`{"resources": [{"resources": ["secrets"], "providers": [{"identity": {}}]}]}`)
		}, "CIS 1.2.28 WARN"},
		"pod that sees all processes": {func(r *record) {
			r.objects = append(r.objects, map[string]any{
				"kind": "Pod", "metadata": map[string]any{"name": "top"},
				"spec": map[string]any{"hostPID": true,
					"containers": []map[string]any{{"name": "top"}}},
			})
		}, "CIS 5.2.3 WARN: top: hostPID is true"},
		"Secrets for everybody": {func(r *record) {
			r.objects = append(r.objects, map[string]any{
				"kind": "ClusterRole", "metadata": map[string]any{"name": "reader"},
				"rules": []map[string]any{{"apiGroups": []string{""},
					"resources": []string{"*"}, "verbs": []string{"list"}}},
			}, map[string]any{
				"kind": "ClusterRoleBinding", "metadata": map[string]any{"name": "readers"},
				"roleRef":  map[string]any{"name": "reader"},
				"subjects": []map[string]any{{"kind": "Group", "name": "system:authenticated"}},
			})
		}, "CIS 5.1.2 WARN: secrets for everybody is reader"},
		"exception that is not needed": {func(r *record) {
			r.add("kube-apiserver", "--anonymous-auth=false")
		}, "CIS 1.2.1 passes; the exception is not needed"},
		"scheduler that does not run": {func(r *record) {
			r.facts.Booted.Processes = slices.DeleteFunc(r.facts.Booted.Processes,
				func(p machine.Process) bool { return p.Command[0] == "kube-scheduler" })
		}, "kube-scheduler does not run"},
		"kubelet that says nothing":    {func(r *record) { r.kubelet = nil }, "no kubeletconfig"},
		"API server that says nothing": {func(r *record) { r.objects = nil }, "no items"},
		"no processes": {func(r *record) {
			r.facts.Booted.Processes = nil
		}, "no processes"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			m := cluster(t, "single", "ignition")[0]
			r := recordOf(t, m)
			tt.change(r)
			booted, err := machine.AfterBoot(&m.Machine, r.write(t))
			if err != nil {
				require.NotEmpty(t, tt.says, err)
				require.ErrorContains(t, err, tt.says)
				return
			}
			_, faults := cis.Compare(&m.Machine, booted)
			if tt.says == "" {
				require.Empty(t, faults)
				return
			}
			require.Condition(t, func() bool {
				return slices.ContainsFunc(faults,
					func(fault string) bool { return strings.Contains(fault, tt.says) })
			}, "it does not say %q but %q", tt.says, faults)
		})
	}
}

// drop takes a word from the command line of a process.
func (r *record) drop(component, word string) {
	p := r.process(component)
	p.Command = slices.DeleteFunc(slices.Clone(p.Command),
		func(w string) bool { return w == word })
}

// add adds a word to the command line of a process.
func (r *record) add(component, word string) {
	p := r.process(component)
	p.Command = append(slices.Clone(p.Command), word)
}

func (r *record) process(component string) *machine.Process {
	processes := r.facts.Booted.Processes
	return &processes[slices.IndexFunc(processes, func(p machine.Process) bool {
		return strings.HasSuffix(p.Command[0], component)
	})]
}

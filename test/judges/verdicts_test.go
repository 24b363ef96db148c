package judges

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// question is one flag of a program, as test/verdicts reads it.
type question struct{ Program, Name, Value string }

// sample is how many flags that a program does not start with, and how many that it starts with,
// are asked for in each build; with KILN_VALUES=all, all are.
const sample = 100

// TestVerdicts: kiln refuses the flags and feature gates with which a program does not start, and
// accepts the others. They are drawn at random, the same in every run: each flag with values after
// its type, misspelt ones, and feature gates of all kinds. They are added one by one to the command
// lines of a golden control plane, and to its configuration.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	machine := cluster(t, "single", "ignition")[0]
	processes, err := machine.processes()
	require.NoError(t, err)
	var drawn []question
	var errs [][]error
	var refused, accepted int
	for _, q := range ask(t, processes) {
		at := slices.IndexFunc(processes, func(p process) bool { return p.Name == q.Program })
		why := processes[at].without(q.Name).with(q)
		count := &accepted
		if len(why) > 0 {
			count = &refused
		}
		if *count < sample || os.Getenv("KILN_VALUES") == "all" {
			*count++
			drawn, errs = append(drawn, q), append(errs, why)
		}
	}
	for i, answer := range answers(t, machine.Kubernetes, drawn) {
		q := drawn[i]
		if q.excused(answer) {
			continue
		}
		assert.Equal(t, len(errs[i]) > 0, len(answer) > 0,
			"--%s=%s of %s: kiln says %q, the program %v",
			q.Name, q.Value, q.Program, answer, errs[i])
	}
	require.GreaterOrEqual(t, refused, sample)
	require.GreaterOrEqual(t, accepted, sample)
	t.Logf("%s: %d refused and %d accepted flags and gates", minor, refused, accepted)
}

// ours are messages of kiln's own: about flags that it writes itself, of the profile, about paths
// that a program does not read at its start, and about controllers without workers.
var ours = regexp.MustCompile(" is set by kiln; | is reserved: |" +
	", which security.profile cis needs|is not an absolute path|a controller that does nothing")

// stricter are flags of which kiln refuses a value that the program takes, because it does nothing
// there: it belongs to something that is off, or is not what it seems, or probes ask elsewhere.
// Those of the kubelet are held against the fields of its configuration, as it does when it starts.
var stricter = []string{
	"allocate-node-cidrs", "audit-log-batch-buffer-size", "audit-log-batch-max-size",
	"audit-webhook-batch-buffer-size", "audit-webhook-batch-max-size", "audit-webhook-mode",
	"audit-webhook-version", "bind-address", "cloud-provider", "controllers",
	"endpoint-reconciler-type", "force-new-cluster", "goaway-chance", "leader-elect-resource-name",
	"leader-elect-resource-namespace", "max-request-bytes", "max-txn-ops",
	"node-monitor-grace-period", "quota-backend-bytes", "request-timeout",
	"cgroups-per-qos", "cpu-manager-policy", "cpu-manager-policy-options", "eviction-hard",
	"eviction-soft", "image-gc-high-threshold", "image-gc-low-threshold", "kube-reserved",
	"memory-manager-policy", "reserved-cpus", "reserved-memory", "system-cgroups",
	"system-reserved", "topology-manager-policy", "topology-manager-policy-options",
}

// excused reports whether kiln may answer otherwise than the program.
func (q question) excused(answer []string) bool {
	return len(answer) > 0 && slices.Contains(stricter, q.Name) ||
		ours.MatchString(strings.Join(answer, "\n"))
}

// without returns the process without a flag.
func (p process) without(flag string) process {
	p.Command = slices.DeleteFunc(slices.Clone(p.Command), func(word string) bool {
		return strings.HasPrefix(word, "--"+flag+"=")
	})
	return p
}

// with returns why the process does not start with one more flag. It may start with a flag that is
// deprecated.
func (p process) with(q question) (errs []error) {
	defer func() {
		if r := recover(); r != nil { // etcd does for a level of its log
			errs = append(errs, fmt.Errorf("panic: %v", r))
		}
	}()
	p.Command = append(slices.Clone(p.Command), "--"+q.Name+"="+q.Value)
	errs = slices.DeleteFunc(p.checkFlags(), func(err error) bool {
		return strings.Contains(err.Error(), "is deprecated: ")
	})
	if q.Name == "feature-gates" && p.Name == "kubelet" {
		// The kubelet checks them when it has read its configuration.
		gates := utilfeature.DefaultMutableFeatureGate.DeepCopy()
		errs = append(errs, gates.Set(q.Value))
	}
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// answers returns what kiln finds wrong with each flag in a release of Kubernetes.
func answers(t *testing.T, release string, questions []question) (all [][]string) {
	t.Helper()
	input, err := json.Marshal(questions)
	require.NoError(t, err)
	cmd := exec.Command("go", "run", "./test/verdicts", "testdata/clusters/single/cluster.yaml",
		release)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stdin = bytes.NewReader(input)
	var exit *exec.ExitError
	out, err := cmd.Output()
	if errors.As(err, &exit) {
		t.Fatalf("%s", exit.Stderr)
	}
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &all))
	require.Len(t, all, len(questions))
	return all
}

// made are the values that flags of a type get: at and behind the limits of the type, in the
// spellings that people use. Those of "" are for all other types.
var made = map[string][]string{
	"bool": {"true", "false", "True", "T", "1", "0", "yes", "on", ""},
	"int": {
		"0", "-1", "1", "2", "10", "100", "65535", "65536", "2147483647", "2147483648",
		"9223372036854775808", "1e3", "0x10", "010", "1_000", " 1", "1.0", "",
	},
	"float": {"0", "1", "-1", "0.5", "1e3", "NaN", "Inf", ".5", "1,5", "50%", ""},
	"duration": {
		"0", "0s", "1s", "-1s", "1h30m", "5", "1d", "1us", "87600h", "1m 30s", "infinity", "100ms",
		"",
	},
	"string": {"", "x", "a b", "0", "-1", "10.0.0.1", "a=b", "https://example.com", "a:b"},
	"stringSlice": {
		"", "a", "a,b", "a,,b", "*", "https://example.com", "a=b", `"a`, "a#1", "/a#b",
	},
	"stringArray":     {"", "a", "a,b", "*", "not a url ://", "https://a:b"},
	"mapStringString": {"", "a", "a=b", "=", "a=b=c", "a=1,a=2", "memory.available<5%"},
	"ip": {
		"0.0.0.0", "::", "::1", "10.0.0.1", "1.2.3", "fe80::1%eth0", "localhost", "",
	},
	"": {"", "x", "0", "1", "-1", "true", "10s", "a=b", "a,b", "10.0.0.1", "a:b", "http://a:1"},
}

// ask draws flags, in a random order. Paths are left out: the machine may not have them.
func ask(t *testing.T, processes []process) (all []question) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, p := range processes {
		newProgram := programs[p.Name]
		if newProgram == nil || p.Name == "kube-proxy" { // no field has flags of kube-proxy
			continue
		}
		optionsLock.Lock()
		program, err := newProgram()
		optionsLock.Unlock()
		require.NoError(t, err)
		add := func(name, value string) { all = append(all, question{p.Name, name, value}) }
		program.flags.VisitAll(func(f *pflag.Flag) {
			if f.Name == "feature-gates" || slices.Contains(special, f.Name) {
				return
			}
			kind := strings.TrimRight(strings.TrimPrefix(f.Value.Type(), "u"), "0123456789")
			if made[kind] == nil {
				kind = ""
			}
			for _, value := range made[kind] {
				add(f.Name, value)
			}
			i := 1 + rnd.IntN(len(f.Name)+1)
			if i < len(f.Name) {
				add(f.Name[:i]+f.Name[i+1:], f.DefValue)
			}
		})
		if p.Name != "etcd" {
			gates := utilfeature.DefaultMutableFeatureGate.GetAll()
			for _, name := range slices.Sorted(maps.Keys(gates)) {
				add("feature-gates", fmt.Sprintf("%s=%t", name, rnd.IntN(2) > 0))
			}
			add("feature-gates", "NoSuchGate=true")
		}
	}
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// special are flags with which a program does something else than its work, so that kiln refuses
// them although the program takes them.
var special = []string{"version", "write-config-to", "config-file"}

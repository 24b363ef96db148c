package judges

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// question is one flag of a program, as test/verdicts reads it.
type question struct {
	Program     string
	Minor       int
	Name, Value string

	odd bool // whether the value may be wrong for a reason that kiln does not know
}

// sample is how many flags that kiln refuses, and how many that it accepts, are asked for.
const sample = 40

// TestVerdicts: a program refuses the flags and feature gates that kiln refuses, and starts with
// those that kiln accepts. They are drawn at random, the same in every run, and added one by one to
// the command lines of a golden control plane.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	processes, err := cluster(t, "baseline", "ignition")[0].processes()
	require.NoError(t, err)
	questions := ask(t, processes)
	var refused, accepted int
	for i, answer := range answers(t, questions) {
		q := questions[i]
		at := slices.IndexFunc(processes, func(p process) bool { return p.Name == q.Program })
		errs := processes[at].with(q)
		switch {
		case len(answer) > 0 && refused < sample:
			refused++
			require.NotEmpty(t, errs, "%s starts with --%s=%s; kiln says: %s",
				q.Program, q.Name, q.Value, answer)
		case len(answer) == 0 && !q.odd && accepted < sample:
			accepted++
			require.Empty(t, errs, "kiln accepts --%s=%s of %s", q.Name, q.Value, q.Program)
		}
	}
	require.Equal(t, sample, refused)
	require.Equal(t, sample, accepted)
	t.Logf("%s: %d refused and %d accepted flags and gates, of %d",
		minor, refused, accepted, len(questions))
}

// with returns why the process does not start with one more flag. It may start with a flag that is
// deprecated.
func (p process) with(q question) []error {
	p.Command = append(slices.Clone(p.Command), "--"+q.Name+"="+q.Value)
	errs := slices.DeleteFunc(p.checkFlags(), func(err error) bool {
		return strings.Contains(err.Error(), "is deprecated: ")
	})
	if q.Name == "feature-gates" && p.Name == "kubelet" {
		// The kubelet checks them when it has read its configuration.
		gates := utilfeature.DefaultMutableFeatureGate.DeepCopy()
		errs = append(errs, gates.Set(q.Value))
	}
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// answers returns what kiln finds wrong with each flag.
func answers(t *testing.T, questions []question) (all [][]string) {
	t.Helper()
	input, err := json.Marshal(questions)
	require.NoError(t, err)
	cmd := exec.Command("go", "run", "./test/verdicts")
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

// odd are values of which each fits some types of flags and not others.
var odd = []string{
	"x", "yes", "1", "-1", "1.5", "10s", "0x10", "true", "99999999999", "a=b", "10.0.0.1", "F",
}

// ask draws flags: those of each process with their defaults and with odd values, misspelt ones,
// and feature gates of all kinds. A flag that the process has is left out. So are those of OpenID
// Connect, which need each other, and paths, which the machine may not have.
func ask(t *testing.T, processes []process) (all []question) {
	t.Helper()
	number, err := strconv.Atoi(strings.TrimPrefix(minor, "v1."))
	require.NoError(t, err)
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, p := range processes {
		newProgram := programs[p.Name]
		if newProgram == nil {
			continue
		}
		optionsLock.Lock()
		program, err := newProgram()
		optionsLock.Unlock()
		require.NoError(t, err)
		add := func(name, value string, odd bool) {
			all = append(all, question{p.Name, number, name, value, odd})
		}
		program.flags.VisitAll(func(f *pflag.Flag) {
			has := func(word string) bool { return strings.HasPrefix(word, "--"+f.Name+"=") }
			if slices.ContainsFunc(p.Command, has) || f.Name == "feature-gates" ||
				slices.Contains(special, f.Name) || strings.HasPrefix(f.Name, "oidc-") {
				return
			}
			switch {
			case rnd.IntN(3) > 0:
			case rnd.IntN(3) > 0 && len(f.Name) > 3:
				i := 1 + rnd.IntN(len(f.Name)-2)
				add(f.Name[:i]+f.Name[i+1:], f.DefValue, true)
			case rnd.IntN(2) > 0:
				add(f.Name, odd[rnd.IntN(len(odd))], true)
			case f.DefValue != "" && f.DefValue != "[]" && f.DefValue[0] != '/':
				add(f.Name, f.DefValue, false)
			}
		})
		if p.Name != "etcd" && p.Name != "kube-proxy" {
			gates := utilfeature.DefaultMutableFeatureGate.GetAll()
			names := slices.Sorted(maps.Keys(gates))
			for range 20 {
				name := names[rnd.IntN(len(names))]
				add("feature-gates", fmt.Sprintf("%s=%t", name, rnd.IntN(2) > 0), false)
			}
			add("feature-gates", "NoSuchGate=true", false)
		}
	}
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// special are flags with which a program does something else than its work, so that kiln refuses
// them although the program takes them.
var special = []string{"version", "write-config-to", "config-file"}

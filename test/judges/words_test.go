package judges

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWords: a program refuses those values of testdata/values.txt that kiln refuses, and starts
// with the others. They replace the flag on the command line of a golden control plane.
func TestWords(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "values.txt"))
	require.NoError(t, err)
	var questions []question
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			words := strings.Fields(line)
			require.Len(t, words, 3, line)
			questions = append(questions, question{words[0], words[1], words[2]})
		}
	}
	machine := cluster(t, "single", "ignition")[0]
	processes, err := machine.processes()
	require.NoError(t, err)
	for i, answer := range answers(t, machine.Kubernetes, questions) {
		q := questions[i]
		at := slices.IndexFunc(processes, func(p process) bool { return p.Name == q.Program })
		if q.excused(answer) {
			continue
		}
		errs := processes[at].without(q.Name).with(q)
		assert.Equal(t, len(answer) > 0, len(errs) > 0,
			"--%s=%s of %s: kiln says %q, the program %v", q.Name, q.Value, q.Program, answer, errs)
	}
}

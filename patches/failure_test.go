package patches_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/patches"
)

// TestFailure: an operation that does not fit is found, with its line and with what the object has.
func TestFailure(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, text string
		line       int
		want       string
	}{
		{"no such key", "- {op: add, path: /metadata/x, value: 1}\n" +
			"- {op: replace, path: /spec/conts/0, value: x}\n", 2,
			`replace /spec/conts/0 does not fit Pod web: /spec has no "conts"; ` +
				`there are containers`},
		{"replaces what is not there", "- {op: replace, path: /spec/x, value: y}\n", 1,
			`replace /spec/x does not fit Pod web: /spec has no "x"; there are containers`},
		{"no such element", "- {op: remove, path: /spec/containers/7}\n", 1,
			`remove /spec/containers/7 does not fit Pod web: /spec/containers has no "7"; ` +
				`the list has 2 elements, from 0 on`},
		{"below a value", "- {op: add, path: /kind/x, value: y}\n", 1,
			`add /kind/x does not fit Pod web: `},
		{"copied from nowhere", "- {op: copy, from: /spec/a, path: /spec/b}\n", 1,
			`copy /spec/b does not fit Pod web: /spec has no "a"; there are containers`},
		{"a test that fails", "- {op: test, path: /kind, value: Node}\n", 1,
			`test /kind does not fit Pod web: `},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p, err := patches.New(row.name, row.text, &patches.Target{Kind: "Pod"})
			require.NoError(t, err)
			_, err = patches.Apply([]byte(stream), p)
			var failure *patches.Failure
			require.ErrorAs(t, err, &failure)
			require.Contains(t, failure.Message, row.want)
			require.Equal(t, row.line, failure.Line)
		})
	}
}

// TestFieldsAlone: with a target, a merge patch may hold nothing but fields.
func TestFieldsAlone(t *testing.T) {
	t.Parallel()
	p, err := patches.New("fields", "maxPods: 5\n", &patches.Target{Kind: "Kubelet.*"})
	require.NoError(t, err)
	out, err := patches.Apply([]byte(stream), p)
	require.NoError(t, err)
	require.Contains(t, string(out), "kind: KubeletConfiguration\n")
	require.Contains(t, string(out), "maxPods: 5\n")
}

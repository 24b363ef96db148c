package pki_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
)

// TestForm: mistakes in the form of a bundle are reported by line and key, all of them at once, and
// never with a value.
func TestForm(t *testing.T) {
	t.Parallel()
	b, _ := load(t)
	text, err := b.Marshal()
	require.NoError(t, err)
	for name, row := range map[string]struct {
		added string
		want  []string // after "line N: ", with N counted from the first added line
	}{
		"a number in quotes": {"generations:\n  admin: \"2\"\n",
			[]string{`1: generations: admin: want a whole number without quotes, such as 2`}},
		"a word": {"generations:\n  admin: hunter2\n",
			[]string{`1: generations: admin: want a whole number without quotes, such as 2`}},
		"a fraction": {"generations: {admin: 1.5}\n",
			[]string{`0: generations: admin: want a whole number without quotes, such as 2`}},
		"a list": {"generations:\n- hunter2\n",
			[]string{`1: generations: want a line for each secret, such as admin: 2`}},
		"a repeated entry": {"generations:\n  admin: 2\n  admin: 3\n",
			[]string{`2: generations: admin stands there already, in line `}},
		"a repeated key": {"leafSeed: hunter2\n",
			[]string{`0: leafSeed stands there already, in line `}},
		"a misspelt key": {"generation:\n  admin: 2\n",
			[]string{`0: a bundle has no such key here; did you mean "generations"?`}},
		"an unknown key": {"hunter2: 1\n", []string{`0: a bundle has no such key here`}},
		"a secret as a list": {"restored: [hunter2]\n",
			[]string{`0: restored: want one value, not a list or a map`}},
		"a root that was rotated": {"rotations:\n  ca:\n    begun: \"2026-01-31T12:00:00Z\"\n" +
			"    keys: hunter2\n", []string{
			`3: rotations: ca: a bundle has no such key here; did you mean "key"?`}},
		"a rotation of nothing": {"rotations:\n  hunter2: []\n",
			[]string{`1: rotations: a bundle has no such key here`}},
		"tokens as a list": {"tokens:\n  blue: [hunter2]\n",
			[]string{`1: tokens: blue: want a line for each pool, such as blue: {renewed: `}},
		"two at once": {"generation:\n  admin: 2\ngenerations:\n  serve: two\n", []string{
			`0: a bundle has no such key here`, `3: generations: serve: want a whole number`,
		}},
		"no YAML": {"generations:\n  admin: 2\n hunter2\n",
			[]string{", column 2: has no key; write it like"}},
	} {
		_, err := pki.Load([]byte(string(text) + row.added))
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "hunter2", name)
		for _, want := range row.want {
			offset, message, found := strings.Cut(want, ":")
			if !found || len(offset) != 1 {
				require.ErrorContains(t, err, want, name)
				continue
			}
			line := strings.Count(string(text), "\n") + 1 + int(offset[0]-'0')
			require.Contains(t, err.Error(), "line "+strconv.Itoa(line)+":"+message, name)
		}
	}
	_, err = pki.Load([]byte(strings.Replace(string(text), "etcdCA:\n", "etcdCA:\n  hunter2: 1\n",
		1)))
	require.ErrorContains(t, err, ": etcdCA: a bundle has no such key here")
	require.NotContains(t, err.Error(), "hunter2")
}

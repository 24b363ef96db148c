package term_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/config"
)

func TestNew(t *testing.T) {
	t.Parallel()
	one, two := errors.New("one is wrong; mend it"), errors.New("two")
	absent := &fs.PathError{Op: "open", Path: "a.yaml", Err: fs.ErrNotExist}
	remedied := term.Problem{Message: "one is wrong; mend it", Remedy: "mend it"}
	for _, row := range []struct {
		name string
		err  error
		want []term.Problem
	}{
		{"no error", nil, []term.Problem{}},
		{"one error", two, []term.Problem{{Message: "two"}}},
		{
			"joined errors",
			errors.Join(one, errors.Join(two, one)),
			[]term.Problem{remedied, {Message: "two"}, remedied},
		},
		{
			"a sentence about two errors is one problem",
			fmt.Errorf("%w, and %w", two, two),
			[]term.Problem{{Message: "two, and two"}},
		},
		{
			"a file",
			fmt.Errorf("config: %w", absent),
			[]term.Problem{{
				File: "a.yaml", Message: "config: open a.yaml: file does not exist",
			}},
		},
		{
			"problems of a configuration",
			config.Problems{{File: "c", Line: 2, Column: 3, Path: "x", Message: `is "a; b"; no`}},
			[]term.Problem{{
				File: "c", Line: 2, Column: 3, Path: "x", Message: `is "a; b"; no`, Remedy: "no",
			}},
		},
		{
			"a quote in a quoted value",
			errors.New(`"a\"; b" is wrong`),
			[]term.Problem{{Message: `"a\"; b" is wrong`}},
		},
	} {
		require.Equal(t, term.Failure{ExitCode: 1, Problems: row.want},
			term.NewFailure(1, row.err), row.name)
	}
}

// TestNames: a list of names reads like a sentence.
func TestNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a, b", term.Names([]string{"a", "b"}))
	require.Equal(t, "a, b, c, d, e and 2 more", term.Names(strings.Split("abcdefg", "")))
}

package wording_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/text/wording"
)

// TestJoined: each error of several is found and gets the prefix, and so does a single one.
func TestJoined(t *testing.T) {
	t.Parallel()
	one, two := errors.New("one"), errors.New("two")
	both := errors.Join(one, two)
	require.Equal(t, []error{one, two}, wording.SplitErrors(both))
	require.Equal(t, []error{one}, wording.SplitErrors(one))
	require.EqualError(t, wording.PrefixErrors("file", both), "file: one\nfile: two")
	require.EqualError(t, wording.PrefixErrors("file", one), "file: one")
	require.ErrorIs(t, wording.PrefixErrors("file", both), two)
}

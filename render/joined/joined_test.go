package joined_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render/joined"
)

// TestJoined: each error of several is found and gets the prefix, and so does a single one.
func TestJoined(t *testing.T) {
	t.Parallel()
	one, two := errors.New("one"), errors.New("two")
	both := errors.Join(one, two)
	require.Equal(t, []error{one, two}, joined.Split(both))
	require.Equal(t, []error{one}, joined.Split(one))
	require.EqualError(t, joined.Prefix("file", both), "file: one\nfile: two")
	require.EqualError(t, joined.Prefix("file", one), "file: one")
	require.ErrorIs(t, joined.Prefix("file", both), two)
}

package main

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTable: the table that kiln has is the one that the types of this minor make.
func TestTable(t *testing.T) {
	minor, err := builtWith()
	require.NoError(t, err)
	text, err := os.ReadFile("../../../render/kube/kinds/fields.txt")
	require.NoError(t, err)
	made := Parse(string(text))
	made.Replace(strconv.Itoa(minor), Lines(minor))
	require.Equal(t, string(text), made.String(),
		"go run ./fields ../../render/kube/kinds/fields.txt")
}

package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/stretchr/testify/require"
)

var man = flag.String("man", "", "write the man pages into this folder (make man)")

// TestMan: there is a man page for each verb, with its flags. The pages are made from the program,
// like docs/cli.md, and the library that makes them is not in it.
func TestMan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if *man != "" {
		dir = *man
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	kiln := root()
	kiln.DisableAutoGenTag = true // the date of the run
	require.NoError(t, doc.GenManTree(kiln, &doc.GenManHeader{
		Section: "1", Source: "kiln " + versionName(), Manual: "kiln",
	}, dir))
	forEachVerb(kiln, func(verb *cobra.Command) {
		if !verb.IsAvailableCommand() {
			return // the help, of which the library makes no page
		}
		name := strings.ReplaceAll(verb.CommandPath(), " ", "-") + ".1"
		page := read(t, filepath.Join(dir, name))
		require.Contains(t, page, verb.Short, name)
		if verb.Flags().Lookup("output") != nil {
			require.Contains(t, page, "--output", name)
		}
	})
	require.Contains(t, read(t, filepath.Join(dir, "kiln.1")), "Exit codes")
}

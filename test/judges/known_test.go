package judges

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false,
	"write what the programs of this minor know into the tables")

// TestKnown: the tables of flags, feature gates and words, by which kiln checks a configuration,
// say of this minor what its programs say. With -update it writes them.
func TestKnown(t *testing.T) {
	t.Parallel()
	number, err := strconv.Atoi(strings.TrimPrefix(minor, "v1."))
	require.NoError(t, err)
	modfile := "go.mod"
	if minor != alone {
		modfile = minor + ".mod"
	}
	etcdmain, err := readEtcdSource(modfile)
	require.NoError(t, err)
	flags, err := knownFlags(etcdmain)
	require.NoError(t, err)
	processes, err := cluster(t, "ha", "ignition")[0].processes()
	require.NoError(t, err)
	words := knownWords()
	refuseEmpty(words, processes)
	limits, err := knownLimits(processes)
	require.NoError(t, err)
	for _, table := range []struct {
		file string
		keys int
		want known
	}{
		{flagsTable, 2, flags}, {gatesTable, 2, knownGates()}, {wordsTable, 2, words},
		{limitsTable, 2, limits},
	} {
		path := filepath.Join("..", "..", filepath.FromSlash(table.file))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		head, all, err := readHistory(string(text), table.keys)
		require.NoError(t, err)
		if *update {
			all.set(number, table.want)
			require.NoError(t, os.WriteFile(path, []byte(head+all.String()), 0o600))
			continue
		}
		require.Equal(t, string(text), head+all.String(), "%s is not sorted", table.file)
		require.Equal(t, table.want, all.of(number), "%s does not say what the programs of %s do; "+
			"go test -run TestKnown -modfile=%s -update writes it", table.file, minor, modfile)
	}
}

package templates_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/machine/preflight"
	"kiln.dev/kiln/test/need"
)

// TestReadme: the first boot that the README shows is what the hook says on that machine, a single
// control plane, and the fault beside it is what the hook says of a port that is taken.
func TestReadme(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../README.md")
	must(t, err)
	journal := regexp.MustCompile("(?s)```text\n# journalctl [^\n]*\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, journal, "the README shows no first boot")
	m := newMachine(t, need.Words(mainShell(t)), "control-plane")
	m.alone()
	m.data["steps"] = strings.Replace(m.data["steps"], " member", "", 1) // nobody gives it a vote
	m.document()
	// chmod tells of a folder that the tests' machine has with another mode.
	said := regexp.MustCompile(`(?m)^mode of .*\n`).ReplaceAllString(m.wantDone(), "")
	require.Equal(t, strings.Fields(string(journal[1])), strings.Fields(said))

	fault := regexp.MustCompile(`(?m)^    (FAULT .*\n)`).FindSubmatch(page)
	require.NotNil(t, fault, "the README shows no fault")
	isPort := func(e preflight.Entry) bool { return e.ID == "port" }
	port := slices.IndexFunc(preflight.Catalogue, isPort)
	m = newMachine(t, need.Words(mainShell(t)), "worker")
	m.check = []string{"port|stop|ports_free 10250 10248|" + preflight.Catalogue[port].Remedy}
	m.at("/proc/net/tcp", "  sl\n   1: 0B00000A:280A 00000000:0000 0A 0:0\n")
	m.document()
	out, _ := m.run()
	require.Contains(t, out, string(fault[1]))
}

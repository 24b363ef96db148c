package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// TestScopeDoc holds the sentences of docs/scope.md about connections to the table of verbs.
func TestScopeDoc(t *testing.T) {
	t.Parallel()
	const path = "../../docs/scope.md"
	var connect, logIn []string
	var visit func(verb *cobra.Command)
	visit = func(verb *cobra.Command) {
		r := reaches[strings.TrimPrefix(verb.CommandPath(), "kiln ")]
		if r.network != "" {
			connect = append(connect, "`"+verb.CommandPath()+"`")
		}
		if strings.Contains(r.network, "ssh") {
			logIn = append(logIn, "`"+verb.CommandPath()+"`")
		}
		for _, below := range verb.Commands() {
			visit(below)
		}
	}
	visit(root())
	page := read(t, path)
	for _, sentence := range []struct {
		begins, ends string
		verbs        []string
	}{
		{"Of all verbs only ", " open a connection.", connect},
		{"Only ", " log in to a machine", logIn},
	} {
		blanks := strings.NewReplacer(" ", `\s+`, ".", `\.`)
		pattern := regexp.MustCompile(blanks.Replace(sentence.begins) + "([`a-z, \n]+?)" +
			blanks.Replace(sentence.ends))
		found := pattern.FindStringSubmatch(page)
		require.NotNil(t, found, pattern)
		last := len(sentence.verbs) - 1
		want := strings.Join(sentence.verbs[:last], ", ") + " and " + sentence.verbs[last]
		require.Equal(t, want, strings.Join(strings.Fields(found[1]), " "),
			"write the verbs of cmd/kiln/reach.go into docs/scope.md")
	}
}

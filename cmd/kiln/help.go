package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
)

// helpCommand takes the place of cobra's, which prints the main help for an unknown verb, and
// succeeds.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "help [VERB]",
		Annotations: term.Reads(),
		Short:       "Explain kiln, or one verb",
		Example:     "  kiln help render",
		ValidArgsFunction: func(
			cmd *cobra.Command, list []string, _ string,
		) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			verb, unknown := findVerb(cmd.Root(), list)
			for _, sub := range verb.Commands() {
				if unknown == "" && sub.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, list []string) error {
			verb, unknown := findVerb(cmd.Root(), list)
			if unknown != "" {
				return term.UsageErrorf("there is no help about %q%s",
					strings.Join(list, " "), term.SuggestVerb(verb, unknown))
			}
			verb.InitDefaultHelpFlag() // the help lists it
			return verb.Help()
		},
	}
}

// findVerb returns the verb that names lead to, or the last one that is known, with the first name
// that is not.
func findVerb(verb *cobra.Command, names []string) (found *cobra.Command, unknown string) {
	for _, name := range names {
		i := slices.IndexFunc(verb.Commands(), func(c *cobra.Command) bool {
			return c.Name() == name
		})
		if i < 0 {
			return verb, name
		}
		verb = verb.Commands()[i]
	}
	return verb, ""
}

// helpLine returns the command that explains a verb.
func helpLine(verb *cobra.Command) string {
	if verb.Name() == "help" {
		verb = verb.Root()
	}
	return "kiln help" + strings.TrimPrefix(verb.CommandPath(), "kiln")
}

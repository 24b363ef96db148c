package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/folder"
)

// flagValues are the values that a shell completes, by flag.
var flagValues = map[string]func(*cobra.Command) []string{
	"arch":     func(*cobra.Command) []string { return []string{"amd64", "arm64"} },
	"node":     machineNames,
	"os":       func(*cobra.Command) []string { return target.SystemNames(nil) },
	"platform": func(*cobra.Command) []string { return target.PlatformNames(nil) },
}

// addCompletions lets a shell complete values of the flags of a verb and of those below it.
func addCompletions(verb *cobra.Command) {
	for flag, values := range flagValues {
		if verb.Flags().Lookup(flag) == nil {
			continue
		}
		complete := func(
			cmd *cobra.Command, _ []string, _ string,
		) ([]cobra.Completion, cobra.ShellCompDirective) {
			return values(cmd), cobra.ShellCompDirectiveNoFileComp
		}
		if err := verb.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // the flag is there, and nobody else completes it
		}
	}
	for _, sub := range verb.Commands() {
		addCompletions(sub)
	}
}

// machineNames returns the names of the machines and pools of the configuration that the command
// line names, none if it cannot be read.
func machineNames(cmd *cobra.Command) (names []string) {
	path := term.DefaultConfig
	if f := cmd.Flags().Lookup("config"); f != nil {
		path = cmp.Or(f.Value.String(), path)
	}
	c, err := render.ConfigPublic(&folder.Input{Path: path})
	if err != nil {
		return nil
	}
	for i := range c.Spec.Nodes {
		names = append(names, c.Spec.Nodes[i].Name)
	}
	for i := range c.Spec.Pools {
		names = append(names, c.Spec.Pools[i].Name)
	}
	return names
}

// completeField completes a field of cluster.yaml up to its next dot.
func completeField(
	_ *cobra.Command, list []string, typed string,
) (fields []cobra.Completion, _ cobra.ShellCompDirective) {
	above := typed[:max(0, strings.LastIndexByte(typed, '.'))]
	doc, ok := config.Field(cmp.Or(above, "spec"))
	if !ok || len(list) > 0 || strings.HasPrefix(typed, "/") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, key := range doc.Fields {
		path := strings.TrimPrefix(above+"."+key, ".")
		below, _ := config.Field(path)
		text, _, _ := strings.Cut(below.Text, ". ")
		fields = append(fields, cobra.CompletionWithDesc(path, text))
	}
	return fields, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

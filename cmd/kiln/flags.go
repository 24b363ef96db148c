package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/bundle"
)

// outputFlag checks the value of -o: text, json or one of the others.
func outputFlag(value string, others ...string) error {
	forms := append([]string{"text", "json"}, others...)
	if slices.Contains(forms, value) {
		return nil
	}
	last := len(forms) - 1
	return usageError{fmt.Errorf("-o %s: want %s or %s", value, strings.Join(forms[:last], ", "), forms[last])}
}

// checkSource returns an error if the flags name both a bundle and a public half.
func checkSource(s *bundle.Source) error {
	if s.Public != "" && s.Secrets != "" {
		return usageError{errors.New("--public and --secrets: name one of them")}
	}
	return nil
}

// args wraps a check of positional arguments, so that a wrong number of them is a wrong command line.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, list []string) error {
		if err := check(cmd, list); err != nil {
			return usageError{err}
		}
		return nil
	}
}

// required returns the usage error for a flag that has no value, or nil.
func required(flag, value, example string) error {
	if value != "" {
		return nil
	}
	return usageError{fmt.Errorf("--%s is missing; for example --%s %s", flag, flag, example)}
}

// emptyFlags returns a usage error for each flag of a file or folder that was given without a value:
// the flag's default would read or write something else than was meant.
func emptyFlags(cmd *cobra.Command) error {
	var errs []error
	for _, name := range []string{"config", "out", "review", "secrets", "public"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed && flag.Value.String() == "" {
			errs = append(errs, fmt.Errorf("--%s is empty; is a variable unset?", name))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return usageError{errors.Join(errs...)}
}

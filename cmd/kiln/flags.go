package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/bundle"
)

// outputFlag adds the flag for the form of a report: text, json, or one of the other forms.
func outputFlag(cmd *cobra.Command, form *string, report string, others ...string) {
	usage := fmt.Sprintf("print the %s in this `FORM`: %s", report, choice(others))
	cmd.Flags().StringVarP(form, "output", "o", "text", usage)
}

// checkOutput returns an error unless form is text, json, or one of the other forms.
func checkOutput(form string, others ...string) error {
	if form == "text" || form == "json" || slices.Contains(others, form) {
		return nil
	}
	return usageErrorf("-o %s: want %s", form, choice(others))
}

// choice lists the forms of a report: "text, json or markdown".
func choice(others []string) string {
	forms := append([]string{"text", "json"}, others...)
	last := len(forms) - 1
	return strings.Join(forms[:last], ", ") + " or " + forms[last]
}

// checkSource returns an error if the flags name both a bundle and a public half.
func checkSource(s *bundle.Source) error {
	if s.Public != "" && s.Secrets != "" {
		return usageErrorf("--public and --secrets: name one of them")
	}
	return nil
}

// checkGiven returns an error if a flag has no value.
func checkGiven(flag, value, example string) error {
	if value != "" {
		return nil
	}
	return usageErrorf("--%s is missing; for example --%[1]s %s", flag, example)
}

// checkEmpty returns an error for each flag of a file or folder whose value is empty. Without the
// error, the verb would use the flag's default, and read or write another file than the user meant.
func checkEmpty(cmd *cobra.Command) error {
	var errs []error
	for _, name := range []string{"config", "filename", "out", "review", "secrets", "public"} {
		flag := cmd.Flags().Lookup(name)
		if flag != nil && flag.Changed && flag.Value.String() == "" {
			errs = append(errs, fmt.Errorf("--%s is empty; is a variable unset?", name))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return usageError{errors.Join(errs...)}
}

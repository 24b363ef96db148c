package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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

package main

import (
	"errors"
	"io"
	"strings"

	"kiln/cmd/kiln/message"
	"kiln/render"
	"kiln/render/config"
)

// Exit codes; they are part of the command's contract.
const (
	exitDone      = 0
	exitWrong     = 1 // the input or the rendering is wrong
	exitUsage     = 2 // the command line is wrong
	exitDifferent = 3 // what lies there is not what would be rendered
)

// usageError is a wrong command line.
type usageError struct{ error }

// reportError is a failure to print what was done, after it was done.
type reportError struct{ error }

// errDifferent makes the command end with exitDifferent; its message has been printed.
var errDifferent = errors.New("different")

// errRefused makes the command end with exitWrong; why has been printed.
var errRefused = errors.New("this change is refused; --force NAME overrides a refusal")

// sayLines writes an error that may be several.
func sayLines(w io.Writer, err error) {
	for line := range strings.Lines(err.Error()) {
		message.Printf(w, "kiln: %s\n", strings.TrimSuffix(line, "\n"))
	}
}

// exitCode returns the exit code for the error of a verb, and writes the error.
func exitCode(err error, messages io.Writer) int {
	var problems config.Problems
	var usage usageError
	var report reportError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errDifferent):
		return exitDifferent
	case errors.Is(err, errRefused):
		message.Printf(messages, "kiln: %s\n", err)
		return exitWrong
	case errors.As(err, &problems):
		message.Printf(messages, "%s\n%s\n", problems, problems.Summary())
		return exitWrong
	case errors.As(err, &usage):
		sayLines(messages, usage)
		message.Printf(messages, "kiln: see: kiln help\n")
		return exitUsage
	case errors.As(err, &report):
		sayLines(messages, report)
		message.Printf(messages, "kiln: the files are written; only the report of it could not be\n")
		return exitWrong
	default:
		sayLines(messages, err)
		if !errors.Is(err, render.ErrPartial) {
			message.Printf(messages, "kiln: nothing was written\n")
		}
		return exitWrong
	}
}

package main

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
)

// Exit codes. They are part of the command's contract.
const (
	exitDone      = 0
	exitWrong     = 1
	exitUsage     = 2
	exitDifferent = 3
)

// exitCodes explains the exit codes in the help.
const exitCodes = `Exit codes:
  0  the verb has done its work
  1  the input or the rendering is wrong, a file cannot be used, or a change is refused
  2  the command line is wrong
  3  things differ or are left: diff, verify, apply, status, --check, --wait, --fail-within`

// servedError comes if a server that may have given documents ends early.
type servedError struct{ error }

// stdoutError comes if standard output did not take all that a verb printed.
type stdoutError struct{ error }

// finish closes the screen of standard output and returns the error of a verb. It returns a
// stdoutError if standard output failed, unless the verb has an error of its own to report.
func finish(err error, results *term.Screen) error {
	_ = results.Close() // the screen keeps the error
	failure := results.Failure()
	var report term.ReportError
	if failure == nil || errors.As(err, &report) {
		return err
	}
	// These errors say nothing without what was printed, or are the failure itself.
	for _, known := range []error{nil, term.ErrDifferent, term.ErrRefused, failure} {
		if errors.Is(err, known) {
			if path := (*fs.PathError)(nil); errors.As(failure, &path) {
				failure = path.Err // the name of standard output says nothing
			}
			return stdoutError{failure}
		}
	}
	return err
}

// reportsFailure reports whether standard output is to say, with -o json, why a verb failed: unless
// the verb's own report says it already.
func reportsFailure(verb *cobra.Command, args []string, err error) bool {
	var reported term.ReportedError
	var late term.ReportError
	return err != nil && !errors.Is(err, term.ErrDifferent) && !errors.Is(err, term.ErrRefused) &&
		!errors.As(err, &reported) && !errors.As(err, &late) && wantsJSON(verb, args)
}

// wantsJSON reports whether the command line asks for JSON, in any place: a wrong flag ends the
// reading of flags.
func wantsJSON(verb *cobra.Command, args []string) bool {
	flag := verb.Flags().Lookup("output")
	if flag == nil || flag.Changed {
		return flag != nil && flag.Value.String() == "json"
	}
	for i, arg := range args {
		switch arg {
		case "-ojson", "-o=json", "--output=json":
			return true
		case "-o", "--output":
			if i+1 < len(args) && args[i+1] == "json" {
				return true
			}
		}
	}
	return false
}

// exitCode prints the error of a verb and returns the exit code for it. wrote says that the verb
// has written something before.
func exitCode(verb *cobra.Command, err error, wrote bool, messages io.Writer) int {
	var problems config.Problems
	var wrong term.UsageError
	var report term.ReportError
	var served servedError
	var stdout stdoutError
	silent := wrote || !term.Writes(verb) // does not say that nothing was written
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, term.ErrDifferent):
		return exitDifferent
	case errors.Is(err, term.ErrRefused):
		printLines(messages, err)
		return exitWrong
	case errors.As(err, &problems):
		summary := problems.Summary()
		if silent {
			summary = "kiln: " + problems.Count()
		}
		term.Printf(messages, "%s\n%s\n", problems, summary)
		return exitWrong
	case errors.As(err, &served):
		printLines(messages, served)
		term.Printf(messages, "kiln: the server has ended early; its log names the documents "+
			"that it gave, and its state may lack the last one: mend the cause, and start it "+
			"again\n")
		return exitWrong
	case errors.As(err, &stdout):
		term.Printf(messages, "kiln: standard output: %v; what is printed there is not whole: "+
			"make room, or send it to another place\n", stdout)
		return exitWrong
	case errors.As(err, &wrong):
		printLines(messages, wrong)
		term.Printf(messages, "kiln: see: %s\n", helpLine(verb))
		return exitUsage
	case errors.As(err, &report):
		printLines(messages, report)
		term.Printf(messages,
			"kiln: the files are written; only this report could not be printed\n")
		return exitWrong
	default:
		printLines(messages, err)
		switch {
		case !silent:
			term.Printf(messages, "kiln: nothing was written\n")
		case term.Writes(verb) && !errors.Is(err, render.ErrPartial):
			term.Printf(messages, "kiln: a part was written before that\n")
		}
		return exitWrong
	}
}

// unsynced prints a note for each file that is written, and that the disk did not confirm. It
// returns the exit code, which says so if the disk failed: a file system that never confirms a name
// is no error.
func unsynced(list []folder.Unsynced, code int, messages io.Writer) int {
	for _, u := range list {
		if u.Unsupported() {
			term.Printf(messages, "kiln: %s: written, and not known to survive a power "+
				"failure: this file system does not sync folders (%v)\n", u.Path, u.Err)
			continue
		}
		term.Printf(messages, "kiln: %s: written, but the disk did not confirm it (%v): after "+
			"a power failure the old content may be back; look at the disk\n", u.Path, u.Err)
		code = cmp.Or(code, exitWrong)
	}
	return code
}

// printLines prints each line of an error, which may join several.
func printLines(w io.Writer, err error) {
	for line := range strings.Lines(term.OneLine(w, err.Error())) {
		term.Printf(w, "kiln: %s\n", strings.TrimSuffix(line, "\n"))
	}
}

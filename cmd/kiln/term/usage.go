package term

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// ErrDifferent makes the command end with exit code 3: the verb has found, and printed, what it was
// asked to fail for.
var ErrDifferent = errors.New("different")

// ErrRefused makes the command end with exit code 1: a change is refused, and the reasons have been
// printed.
var ErrRefused = errors.New("this change is refused; --force NAME overrides a refusal")

// UsageError is a wrong command line.
type UsageError struct{ Err error }

// Error returns what is wrong with the command line.
func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the error that UsageErrorf wraps.
func (e UsageError) Unwrap() error { return e.Err }

// UsageErrorf returns a UsageError, as fmt.Errorf makes an error.
func UsageErrorf(format string, args ...any) error {
	return UsageError{fmt.Errorf(format, args...)}
}

// Annotations of verbs. One with reads writes no file, unless one of the flags in it is given; one
// with readsWith writes none if the flag in it is given.
const (
	reads     = "reads"
	readsWith = "reads-with"
)

// Reads returns the annotations of a verb that writes files only with one of these flags.
func Reads(flags ...string) map[string]string {
	return map[string]string{reads: strings.Join(flags, ",")}
}

// ReadsWith returns the annotations of a verb that writes no file with this flag.
func ReadsWith(flag string) map[string]string { return map[string]string{readsWith: flag} }

// Writes reports whether the command line of a verb asks for files to be written. The error of one
// that does not need not say that nothing was written.
func Writes(verb *cobra.Command) bool {
	given := func(name string) bool {
		flag := verb.Flags().Lookup(name)
		return flag != nil && flag.Changed
	}
	flags, reader := verb.Annotations[reads]
	if !reader {
		return !given(verb.Annotations[readsWith])
	}
	return slices.ContainsFunc(strings.Split(flags, ","), given)
}

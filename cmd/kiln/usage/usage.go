// Package usage holds what all verbs ask of a command line: the number of arguments, the values of
// flags, and the error about a wrong one.
package usage

import (
	"errors"
	"fmt"
)

// ErrDifferent makes the command end with exit code 3: the verb has found, and printed, what it was
// asked to fail for.
var ErrDifferent = errors.New("different")

// Error is a wrong command line.
type Error struct{ Err error }

// Error returns what is wrong with the command line.
func (e Error) Error() string { return e.Err.Error() }

// Unwrap returns the error that Errorf wraps.
func (e Error) Unwrap() error { return e.Err }

// Errorf returns an Error, as fmt.Errorf does.
func Errorf(format string, args ...any) error {
	return Error{fmt.Errorf(format, args...)}
}

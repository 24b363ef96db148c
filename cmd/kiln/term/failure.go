package term

import (
	"errors"
	"io/fs"
	"strings"

	"kiln.dev/kiln/render/config"
)

// Failure says why a verb failed.
type Failure struct {
	ExitCode int       `json:"exitCode"`
	Problems []Problem `json:"problems"` // empty if the verb did not fail
}

// Problem is one reason. Line, Column and Path are those of a mistake in a configuration; they are
// absent if the reason is something else.
type Problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`   // 1-based
	Column  int    `json:"column,omitempty"` // 1-based, in characters
	Path    string `json:"path,omitempty"`   // the field of the configuration
	Message string `json:"message"`          // what people read, with the remedy
	Remedy  string `json:"remedy,omitempty"` // the part of the message that says what to do
}

// NewFailure returns the report of a verb that ended with an exit code and an error; err may be
// nil.
func NewFailure(code int, err error) Failure {
	return Failure{ExitCode: code, Problems: appendProblems([]Problem{}, err)}
}

// appendProblems adds a problem for each error that err joins.
func appendProblems(list []Problem, err error) []Problem {
	if err == nil {
		return list
	}
	var problems config.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			list = append(list, Problem{
				File: p.File, Line: p.Line, Column: p.Column, Path: p.Path,
				Message: p.Message, Remedy: remedy(p.Message),
			})
		}
		return list
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if !isJoined(e) {
			continue
		}
		for _, part := range e.(interface{ Unwrap() []error }).Unwrap() {
			list = appendProblems(list, part)
		}
		return list
	}
	p := Problem{Message: err.Error(), Remedy: remedy(err.Error())}
	var path *fs.PathError
	if errors.As(err, &path) {
		p.File = path.Path
	}
	return append(list, p)
}

// isJoined reports whether err joins errors. An error that wraps several others in a sentence of
// its own is one error.
func isJoined(err error) bool {
	list, ok := err.(interface{ Unwrap() []error })
	return ok && errors.Join(list.Unwrap()...).Error() == err.Error()
}

// remedy returns the part of a message that says what to do, which is behind the first semicolon
// outside of quotes.
func remedy(message string) string {
	quoted, escaped := false, false
	for i, c := range message {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(message[i:], "; "):
			return message[i+len("; "):]
		}
	}
	return ""
}

package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// MaxListed is the number of machines, documents or files that a report lists one by one.
const MaxListed = 50

// MaxNamed is the number of names that a sentence lists.
const MaxNamed = 5

// Printf writes a message. It returns no error, because the screen below w keeps the first one, and
// the command looks at it in the end.
func Printf(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format, args...)
}

// Each writes a message for each element of a list, which the format has once.
func Each[T any](w io.Writer, format string, list []T) {
	for _, one := range list {
		Printf(w, format, one)
	}
}

// Notes writes a line for each note.
func Notes(w io.Writer, notes []string) { Each(w, "kiln: %s\n", notes) }

// JSON writes a report for programs, indented.
func JSON(w io.Writer, report any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(report)
}

// Line returns a value as one line of JSON, with its end. Unlike json.Marshal it writes < as one
// byte and not as six, so that whoever chooses the text does not choose the size of a file.
func Line(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return b.Bytes(), err
}

// ReportError comes if a verb has written its files, and then cannot print its report.
type ReportError struct{ Err error }

// Error returns why the report could not be printed.
func (e ReportError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the writer.
func (e ReportError) Unwrap() error { return e.Err }

// ReportedError comes from a verb whose report says already why it failed.
type ReportedError struct{ Err error }

// Error returns why the verb failed.
func (e ReportedError) Error() string { return e.Err.Error() }

// Unwrap returns why the verb failed.
func (e ReportedError) Unwrap() error { return e.Err }

// Report prints for programs what a verb has written. Its error is a ReportError.
func Report(w io.Writer, report any) error {
	if err := JSON(w, report); err != nil {
		return ReportError{err}
	}
	return nil
}

// NonNil returns the list, or an empty one for nil, so that JSON shows [] and not null.
func NonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// Names lists the first MaxNamed names and counts the others: "a, b, c, d, e and 3 more".
func Names(names []string) string {
	if more := len(names) - MaxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:MaxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

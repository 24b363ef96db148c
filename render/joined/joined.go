// Package joined works on each of the errors that errors.Join made one of.
package joined

import (
	"errors"
	"fmt"
)

// Split returns the errors that errors.Join made one of, or err alone.
func Split(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return []error{err}
}

// Prefix returns err with a prefix and a colon before each of its errors.
func Prefix(prefix string, err error) error {
	var all []error
	for _, err := range Split(err) {
		all = append(all, fmt.Errorf("%s: %w", prefix, err))
	}
	return errors.Join(all...)
}

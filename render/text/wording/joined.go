// This file works on each of the errors that errors.Join made one of.

package wording

import (
	"errors"
	"fmt"
)

// SplitErrors returns the errors that errors.Join made one of, or err alone.
func SplitErrors(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return []error{err}
}

// PrefixErrors returns err with a prefix and a colon before each of its errors.
func PrefixErrors(prefix string, err error) error {
	var all []error
	for _, err := range SplitErrors(err) {
		all = append(all, fmt.Errorf("%s: %w", prefix, err))
	}
	return errors.Join(all...)
}

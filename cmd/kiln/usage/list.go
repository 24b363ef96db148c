package usage

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// lists are the types of flags that take several values.
var lists = []string{"stringSlice", "stringArray"}

// RefuseControl makes all flags for lists, of a verb and those below it, refuse control characters.
// pflag reads the values between commas as one line of CSV, and drops what follows a line break.
func RefuseControl(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(lists, f.Value.Type()) {
			f.Value, f.DefValue = list{f.Value}, "" // the help would show "[]"
		}
	})
	for _, sub := range cmd.Commands() {
		RefuseControl(sub)
	}
}

// list is the value of a flag for a list.
type list struct{ pflag.Value }

var errControl = errors.New("it has a line break or another control character; " +
	"repeat the flag for more values")

// Set adds values.
func (l list) Set(text string) error {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return errControl
	}
	return l.Value.Set(text)
}

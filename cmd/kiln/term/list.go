package term

import (
	"errors"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// RefuseControl makes all flags for lists with commas, of a verb and those below it, refuse control
// characters. pflag reads such a list as one line of CSV, and drops what follows a line break.
func RefuseControl(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "stringSlice" {
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

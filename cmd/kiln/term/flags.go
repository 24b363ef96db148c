package term

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kiln.dev/kiln/render/text/wording"
)

// OutputFlag adds the flag for the form of a report: text, json, or one of the other forms.
func OutputFlag(cmd *cobra.Command, form *string, report string, others ...string) {
	forms := append([]string{"text", "json"}, others...)
	usage := fmt.Sprintf("print the %s in this `FORM`: %s", report, choice(forms))
	cmd.Flags().StringVarP(form, "output", "o", forms[0], usage)
	Allow(cmd, "output", forms)
}

// choices is the annotation of a flag that has a list of values.
const choices = "choices"

// Allow lets a flag have these values alone. CheckChoices refuses others.
func Allow(cmd *cobra.Command, flag string, values []string) {
	cmd.Flags().Lookup(flag).Annotations = map[string][]string{choices: values}
}

// CheckChoices returns an error if a flag has a value that is not in its list.
func CheckChoices(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values, value := f.Annotations[choices], f.Value.String()
		if len(values) == 0 || slices.Contains(values, value) {
			return
		}
		name, instead := "--"+f.Name, ""
		if f.Name == "output" {
			name = "-o"
			if out := cmd.Flags().Lookup("out"); out != nil && !out.Changed {
				instead = fmt.Sprintf(", the form of what is printed; to write there: --out %s",
					wording.ShellWord(value))
			}
		}
		err = cmp.Or(err, UsageErrorf("%s %s: want %s%s", name, value, choice(values), instead))
	})
	return err
}

// choice lists the values of a flag: "text, json or markdown".
func choice(values []string) string {
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// CheckGiven returns an error if a flag has no value.
func CheckGiven(flag, value, example string) error {
	if value != "" {
		return nil
	}
	return UsageErrorf("--%s is missing; for example --%[1]s %s", flag, example)
}

// CheckEmpty returns an error for each flag of a file or folder whose value is empty. Without the
// error, the verb would use the flag's default, and read or write another file than the user meant.
func CheckEmpty(cmd *cobra.Command) error {
	var errs []error
	for _, name := range []string{
		"config", "filename", "out", "review", "secrets", "public", "identity", "pki", "ca",
		"ca-key", "etcd-ca", "etcd-ca-key", "front-proxy-ca", "front-proxy-ca-key",
		"service-account-key", "service-account-public", "encryption-config",
	} {
		flag := cmd.Flags().Lookup(name)
		if flag != nil && flag.Changed && flag.Value.String() == "" {
			errs = append(errs, fmt.Errorf("--%s is empty; is a variable unset?", name))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return UsageError{errors.Join(errs...)}
}

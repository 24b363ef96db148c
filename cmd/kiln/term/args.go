package term

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kiln.dev/kiln/render/text/wording"
)

// TakeArgs returns the check of a verb's arguments: their number is at least least and, unless most
// is 0, at most most. what names them in messages, and example is a right command line.
func TakeArgs(least, most int, what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, list []string) error {
		switch n := len(list); {
		case n < least && n > 0:
			return UsageErrorf("%s needs %s, and %s is all there is; for example: %s",
				cmd.CommandPath(), what, strings.Join(list, " "), example)
		case n < least:
			return UsageErrorf("%s needs %s; for example: %s", cmd.CommandPath(), what, example)
		case n > most && most > 0:
			return UsageErrorf("%s takes %s, and %q is one too many; for example: %s",
				cmd.CommandPath(), what, list[most], example)
		}
		return nil
	}
}

// NoArgs refuses positional arguments.
func NoArgs(cmd *cobra.Command, list []string) error {
	if len(list) == 0 {
		return nil
	}
	return UsageErrorf("%s takes no arguments, and %q is one", cmd.CommandPath(), list[0])
}

// SuggestFlag adds to the error about an unknown flag the known flag that was probably meant.
func SuggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if name := wording.Nearest(unknown.GetSpecifiedName(), names); name != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, name)
	}
	return err
}

// CheckVerb returns the verb that a command line names. It fails if the verb does not exist, also
// if its help is asked for, and returns the verb above it.
func CheckVerb(root *cobra.Command, args []string) (*cobra.Command, error) {
	if len(args) > 0 && strings.HasPrefix(args[0], "__") {
		return root, nil // a shell completes a command line
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	verb, rest, err := root.Find(args)
	if err != nil || !verb.HasSubCommands() || verb.Use != verb.Name() {
		return verb, err // or it has arguments of its own
	}
	for _, arg := range rest {
		if !strings.HasPrefix(arg, "-") {
			return verb, unknownVerb(verb, arg)
		}
	}
	return verb, nil
}

// unknownVerb returns the error about a verb that does not exist below another one.
func unknownVerb(parent *cobra.Command, verb string) error {
	of, hint := "", SuggestVerb(parent, verb)
	if parent.HasParent() {
		of = " of " + parent.Name()
	} else if slices.Contains(Changers, verb) {
		hint += " kiln renders documents, and machines boot from them"
	}
	return UsageErrorf("unknown verb %q%s%s", verb, of, hint)
}

// Changers are verbs with which other programs change machines; kiln render comes nearest to them.
var Changers = []string{
	"bootstrap", "create", "deploy", "generate", "install", "join", "provision", "up",
}

// SuggestVerb returns the question whether a known verb was meant, or nothing if none is similar.
func SuggestVerb(cmd *cobra.Command, verb string) string {
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(verb); len(near) > 0 {
		return fmt.Sprintf("; did you mean %s?", near[0])
	}
	return ""
}

// outputs are the flags that name what a verb writes.
var outputs = []string{"out", "review", "log", "state"}

// inputs are the flags that name standard input by -.
var inputs = []string{"config", "secrets"}

// NamedPaths returns the paths that the command line of a verb names, and those of its defaults.
func NamedPaths(verb *cobra.Command) (list []NamedPath) {
	configuration := verb.Flags().Lookup("config") != nil && verb.Name() != "explain"
	word := ""
	if verb.Flags().Lookup("machine") != nil {
		word = "--machine"
	}
	verb.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && !f.Hidden {
			n := NamedPath{
				Path: f.Value.String(), Flag: "--" + f.Name,
				Output: slices.Contains(outputs, f.Name), Stdin: slices.Contains(inputs, f.Name),
			}
			if f.Name == "config" && !f.Changed { // an argument named it
				n.Word = word
			}
			list = append(list, n)
		}
	})
	for _, arg := range verb.Flags().Args() {
		if !configuration { // or else --config has it
			list = append(list, NamedPath{Path: arg, Stdin: verb.Name() == "unpack"})
		}
	}
	return list
}

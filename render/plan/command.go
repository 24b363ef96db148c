package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"kiln.dev/kiln/render/config"
)

// Commands is a command line in layers: each step, of one origin, overrides those before it.
type Commands []CommandStep

// CommandStep is what one origin sets.
type CommandStep struct {
	From Origin
	CommandLine
}

// CommandLine is a program and flags for it. In an object it stands for the list of its words.
type CommandLine struct {
	Program string
	own     flags        // kiln's
	extra   []config.Arg // the user's
}

// commands begins the command line of a program with the flags that kiln always sets.
func commands(program string, own flags) Commands {
	return Commands{{Kiln, CommandLine{Program: program, own: own}}}
}

func (c *Commands) set(from Origin, own flags) {
	*c = append(*c, CommandStep{from, CommandLine{Program: (*c)[0].Program, own: own}})
}

// extra adds a step for each flag of the user, from the list at path in the configuration.
func (c *Commands) extra(path string, args []config.Arg) {
	for i, arg := range args {
		from := Origin{Field: fmt.Sprintf("%s[%d]", path, i)}
		line := CommandLine{Program: (*c)[0].Program, extra: []config.Arg{arg}}
		*c = append(*c, CommandStep{from, line})
	}
}

// Args returns the flags after all steps.
func (c Commands) Args() []config.Arg {
	var all CommandLine
	for _, step := range c {
		all = all.With(step.CommandLine)
	}
	return all.args()
}

// With returns c with the flags of next: the user's come behind, kiln's replace those of one name.
func (c CommandLine) With(next CommandLine) CommandLine {
	own := maps.Clone(c.own)
	if own == nil {
		own = flags{}
	}
	maps.Copy(own, next.own)
	return CommandLine{next.Program, own, slices.Concat(c.extra, next.extra)}
}

func (c CommandLine) args() []config.Arg { return c.own.with(c.extra) }

// MarshalJSON writes the command as a list.
func (c CommandLine) MarshalJSON() ([]byte, error) {
	return json.Marshal(Command(c.Program, c.args()))
}

type flags map[string]string

// with returns the flags sorted by name, then the user's in their order. A flag of the user
// replaces kiln's of the same name; one that the user repeats stays repeated.
func (f flags) with(extra []config.Arg) []config.Arg {
	args := make([]config.Arg, 0, len(f)+len(extra))
	for name, value := range f {
		if !slices.ContainsFunc(extra, func(a config.Arg) bool { return a.Name == name }) {
			args = append(args, config.Arg{Name: name, Value: value})
		}
	}
	slices.SortFunc(args, func(a, b config.Arg) int { return cmp.Compare(a.Name, b.Name) })
	return append(args, extra...)
}

// Command returns a program with its flags as a list of words, each flag as --name=value.
func Command(program string, args []config.Arg) []string {
	out := []string{program}
	for _, a := range args {
		out = append(out, fmt.Sprintf("--%s=%s", a.Name, a.Value))
	}
	return out
}

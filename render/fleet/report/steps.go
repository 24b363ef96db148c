package report

import (
	"regexp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/fleet/rollout"
)

// stepView is a step with its machines, each of which has a check box, and its lines. The machines
// of a pool are there if the steps begin with what runs.
type stepView struct {
	Number   int
	Title    string
	Class    string // of the colour
	Machines []string
	How      []instruction
	Wait     []instruction
	Then     []instruction
}

// Many reports whether the step has several machines.
func (s stepView) Many() bool { return len(s.Machines) > 1 }

// Named reports whether the step's lines have NAME for one of its machines.
func (s stepView) Named() bool {
	isName := func(w word) bool { return w.Var && w.Text == "NAME" }
	lines := slices.Concat(s.How, s.Wait, s.Then)
	return s.Many() && slices.ContainsFunc(lines, func(i instruction) bool {
		return slices.ContainsFunc(slices.Concat(i.Command, i.Note), isName)
	})
}

// instruction is a line of a step: a command with a note behind it, or only a note.
type instruction struct {
	Command []word
	Note    []word
	Item    bool // of the list that the line before begins
	Plain   bool // the command has no character that a shell obeys, so that a button may copy it
}

// word is a part of a command. Var is a placeholder, such as NAME.
type word struct {
	Var  bool
	Text string
}

// stepsOf returns the steps of a change.
func stepsOf(p *rollout.Steps) (out []stepView) {
	for i := range p.List {
		s := ordered(&p.List[i])
		out = append(out, stepView{
			Number: i + 1, Title: s.Title(), Class: classOf(s),
			Machines: slices.Concat(s.Machines, s.Nodes),
			How:      instructions(s.How, "  # "), Wait: instructions(s.Wait, " says "),
			Then: instructions(s.Then, "  # "),
		})
	}
	return out
}

// ordered returns a step with worker-2 before worker-10.
func ordered(s *rollout.Step) *rollout.Step {
	out := *s
	out.Machines = slices.SortedFunc(slices.Values(s.Machines), natural)
	out.Nodes = slices.SortedFunc(slices.Values(s.Nodes), natural)
	return &out
}

// classOf returns the class of a step's colour: that of what it does to its machines.
func classOf(s *rollout.Step) string {
	switch s.Do {
	case rollout.Snapshot, rollout.Restore:
		return fateOf(rollout.Replace).Class
	case rollout.Apply:
		return fateOf(rollout.Live).Class
	case rollout.Delete:
		return fateOf(rollout.Remove).Class
	}
	return fateOf(s.Do).Class
}

func instructions(lines []rollout.Line, end string) (out []instruction) {
	for _, line := range rollout.Texts(lines) {
		out = append(out, instructionOf(line, end))
	}
	return out
}

var (
	isCommand   = regexp.MustCompile(`^(kubectl|kiln|rm) .*[^:]$`)
	placeholder = regexp.MustCompile(`\b(NAME|OTHER|ID|FILE)\b`)
	aName       = regexp.MustCompile(`\b(NAME|OTHER)\b`)
	isPlain     = regexp.MustCompile(`^[A-Za-z0-9 ./_=:,@-]+$`)
)

// instructionOf divides a line into a command and the note that begins at end, or at ", and ", or
// at " has ". A line that begins with no program is a note.
func instructionOf(line, end string) instruction {
	text := strings.TrimSpace(line)
	if !isCommand.MatchString(text) {
		return instruction{Note: words(text, aName), Item: line != text}
	}
	command, note := text, ""
	for _, mark := range []string{end, ", and ", " has "} {
		if i := strings.Index(command, mark); i >= 0 {
			command, note = command[:i], strings.TrimPrefix(command[i:], "  # ")+note
		}
	}
	return instruction{
		Command: words(command, placeholder),
		Note:    words(strings.TrimLeft(note, ", "), aName),
		Plain:   isPlain.MatchString(command),
	}
}

// words divides a text at its variables.
func words(text string, variable *regexp.Regexp) (out []word) {
	at := 0
	for _, place := range variable.FindAllStringIndex(text, -1) {
		if place[0] > at {
			out = append(out, word{Text: text[at:place[0]]})
		}
		out = append(out, word{Var: true, Text: text[place[0]:place[1]]})
		at = place[1]
	}
	if at < len(text) {
		out = append(out, word{Text: text[at:]})
	}
	return out
}

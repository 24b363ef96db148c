package rollout

import (
	"encoding/json"
	"strings"
)

// Act is what kiln roll does for a line of a step.
type Act int

// The acts. Each says which fields of a Line it needs.
const (
	Say       Act = iota // nothing: the line is for people
	ByHand               // nothing either: kiln roll says at its end that it is left to a person
	Run                  // Command runs; as root on the machine On, if there is one
	Drain                // Command runs, and the Node is marked as drained by kiln roll
	Uncordon             // the Nodes take pods again that kiln roll has drained
	InPlace              // Command runs, which is kiln apply without the way to the machine
	Boot                 // the machine gets its Document and an empty disk, and is powered on
	Destroy              // the machine goes, with its disk
	Healthy              // Command says that all members of etcd are healthy but those at Down
	Unmember             // Command, with list and remove, takes the machine's member out of etcd
	Copy                 // Path is copied off the machine On, and the copy is compared with it
	Ready                // the Node is Ready, and runs the newer document
	Voting               // Command lists the machine as a member of etcd with a vote
	RolledOut            // Command says that pods are those of the newer state
)

// Line is a line of a step: its text, and what kiln roll does for it.
type Line struct {
	Text     string
	Act      Act
	Command  string
	On       string
	Nodes    []string
	Document string // its folder
	Path     string
	Down     []string // addresses
	// Named says that the first NAME in Text and Command, and that at the end of Document, stands
	// for a machine of the step, and Other that OTHER stands for another member of etcd.
	Named, Other bool
	// For is the machine that the line is about, if that is one of several of its step.
	For string
}

// MarshalJSON writes the text alone.
func (l Line) MarshalJSON() ([]byte, error) { return json.Marshal(l.Text) }

// UnmarshalJSON reads the text.
func (l *Line) UnmarshalJSON(text []byte) error {
	*l = Line{}
	return json.Unmarshal(text, &l.Text)
}

// Texts returns the texts of lines.
func Texts(lines []Line) (texts []string) {
	for i := range lines {
		texts = append(texts, lines[i].Text)
	}
	return texts
}

// says returns lines for people.
func says(texts ...string) (lines []Line) {
	for _, text := range texts {
		lines = append(lines, Line{Text: text})
	}
	return lines
}

// commands returns a line for each text: a command of kubectl, kiln or rm, with a note behind it,
// or words for a person.
func commands(texts ...string) (lines []Line) {
	for _, text := range texts {
		l := Line{Text: text, Act: ByHand}
		switch program, _, _ := strings.Cut(text, " "); program {
		case "kubectl", "kiln", "rm":
			l.Act = Run
			l.Command, _, _ = strings.Cut(text, "  # ")
			l.Command = strings.TrimSuffix(l.Command, " &&")
		}
		lines = append(lines, l)
	}
	return lines
}

// byHand returns lines as ones that are left to a person.
func byHand(lines []Line) (out []Line) {
	for _, l := range lines {
		if l.Act != Say {
			l = Line{Text: l.Text, Act: ByHand}
		}
		out = append(out, l)
	}
	return out
}

// of returns the line as one about a machine, which may be NAME.
func (l Line) of(name string) Line {
	l.Named = name == "NAME"
	return l
}

// with returns the line with a note behind its text.
func (l Line) with(note string) Line {
	l.Text += note
	return l
}

// as returns the line as another act.
func (l Line) as(act Act) Line {
	l.Act = act
	return l
}

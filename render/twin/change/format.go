package change

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"kiln.dev/kiln/render/text/wording"
)

// Form says how a report is written.
type Form struct {
	// Colour uses a terminal's colours.
	Colour bool
	// Markdown makes a report for a comment on a pull request.
	Markdown bool
}

// maxWidth is how many characters two values may have together to be on one line.
const maxWidth = 100

// signs are for what happened to an entry.
var signs = map[string]string{Added: "+", Removed: "-", Changed: "~"}

// Text returns the difference for people.
func (d *Diff) Text(form Form) string {
	w := NewWriter(form)
	if !d.Changed() {
		line := "nothing differs"
		if count, _, some := strings.Cut(d.Unseen(), ":"); some {
			line = "nothing that was compared differs; not compared: " + count
		}
		w.Line(line)
		return w.String()
	}
	if len(d.Cluster) > 0 {
		w.Section("cluster " + d.new.Name)
		w.fields("  ", d.Cluster)
		w.End()
	}
	for _, g := range d.Groups {
		w.group(&g)
	}
	return w.String()
}

func (w *Writer) group(g *Group) {
	title := g.title()
	if g.What != Changed {
		w.Section(fmt.Sprintf("%s %s: %s, %s", signs[g.What], title, g.What, g.Is))
		w.End()
		return
	}
	w.Section(title)
	for _, c := range g.Changes {
		w.change(&c)
	}
	w.End()
}

// title returns the names of the machines, and their number if they are many.
func (g *Group) title() string {
	return Names(g.Machines, g.Pools)
}

// Names returns a list of machines and pools. Three or more with consecutive numbers are one span.
func Names(machines, pools []string) string {
	var parts []string
	if len(machines) > 0 {
		text := Spans(machines)
		if len(machines) > 3 {
			text = fmt.Sprintf("%d machines: %s", len(machines), text)
		}
		parts = append(parts, text)
	}
	for _, name := range pools {
		parts = append(parts, "pool "+name)
	}
	return strings.Join(parts, ", ")
}

var nameWithNumber = regexp.MustCompile(`^(.*?)([0-9]+)$`)

// Spans returns a list of names. Three or more with consecutive numbers are "first … last".
func Spans(names []string) string {
	var out []string
	for i := 0; i < len(names); {
		j := i + 1
		for j < len(names) && follows(names[j-1], names[j]) {
			j++
		}
		if j-i > 2 {
			out = append(out, names[i]+" … "+names[j-1])
		} else {
			out = append(out, names[i:j]...)
		}
		i = j
	}
	return strings.Join(out, ", ")
}

// follows reports whether b is a with the next number.
func follows(a, b string) bool {
	x, y := nameWithNumber.FindStringSubmatch(a), nameWithNumber.FindStringSubmatch(b)
	if x == nil || y == nil || x[1] != y[1] {
		return false
	}
	m, err := strconv.Atoi(x[2])
	n, err2 := strconv.Atoi(y[2])
	return err == nil && err2 == nil && n == m+1
}

// change writes what happened to one entry.
func (w *Writer) change(c *Change) {
	name := c.Title()
	if c.Kind == "machine" {
		name += " itself"
	}
	if c.What == Added {
		// A new entry is described on its own line.
		for _, f := range c.Fields {
			if f.New != nil {
				name += ", " + f.Name + " " + *f.New
			}
		}
		w.Colour(Added, "  + "+name)
		return
	}
	w.Colour(c.What, "  "+signs[c.What]+" "+name)
	if c.What == Changed {
		w.fields("      ", c.Fields)
	}
}

// fields writes the values of each field, on one line or on two.
func (w *Writer) fields(indent string, list []Field) {
	for _, f := range list {
		name := f.Name
		if name != "" {
			name += ": "
		}
		switch {
		case f.Old == nil && f.New == nil:
			w.Line(indent + name)
		case f.Old == nil:
			w.Colour(Added, indent+name+"+ "+*f.New)
		case f.New == nil:
			w.Colour(Removed, indent+name+"- "+*f.Old)
		case utf8.RuneCountInString(*f.Old)+utf8.RuneCountInString(*f.New) <= maxWidth:
			w.Line(indent + name + *f.Old + " → " + *f.New)
		default:
			w.Line(indent + strings.TrimSuffix(name, " "))
			w.Colour(Removed, indent+"  - "+*f.Old)
			w.Colour(Added, indent+"  + "+*f.New)
		}
	}
}

// Writer writes a report in one form. A section of Markdown is a diff block, in which signs have
// colours.
type Writer struct {
	text strings.Builder
	form Form
	open bool // in a block of Markdown
}

// NewWriter returns a writer of a report in that form.
func NewWriter(form Form) *Writer { return &Writer{form: form} }

// String returns what was written.
func (w *Writer) String() string { return w.text.String() }

// Empty reports whether nothing was written yet.
func (w *Writer) Empty() bool { return w.text.Len() == 0 }

// markdown escapes the characters with which a name could make an image, a link, HTML or emphasis
// (https://spec.commonmark.org/0.31.2/#backslash-escapes).
var markdown = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "~", `\~`,
	"!", `\!`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "&", `\&`)

// Section begins a part of the report.
func (w *Writer) Section(title string) {
	title = wording.Visible(title, "")
	if !w.Empty() {
		w.text.WriteString("\n")
	}
	switch {
	case w.form.Markdown:
		fmt.Fprintf(&w.text, "**%s**\n\n```diff\n", markdown.Replace(title))
		w.open = true
	case w.form.Colour:
		fmt.Fprintf(&w.text, "\x1b[1m%s\x1b[0m\n", title)
	default:
		fmt.Fprintf(&w.text, "%s\n", title)
	}
}

// End ends a part.
func (w *Writer) End() {
	if w.open {
		w.text.WriteString("```\n")
		w.open = false
	}
}

// Line writes a line.
func (w *Writer) Line(text string) {
	w.write(wording.Visible(text, "\t"))
}

// write writes a line that is safe for a terminal. Only Colour may have added escapes to it.
func (w *Writer) write(text string) {
	if w.open {
		// Three backquotes would end the block.
		text = strings.ReplaceAll(text, "```", "`` `")
	}
	w.text.WriteString(text + "\n")
}

var colours = map[string]string{Added: "\x1b[32m", Removed: "\x1b[31m"}

// Colour writes a line in the colour of an added or removed value. In a block of Markdown the sign
// must be the line's first character.
func (w *Writer) Colour(what, text string) {
	text = wording.Visible(text, "\t")
	switch {
	case w.form.Colour && colours[what] != "":
		text = colours[what] + text + "\x1b[0m"
	case w.open && what != Changed:
		text = signs[what] + strings.Replace(strings.TrimPrefix(text, " "), signs[what]+" ", "", 1)
	}
	w.write(text)
}

// Title returns the name of a changed entry in messages.
func (c *Change) Title() string {
	switch {
	case c.Kind == "file":
		return c.Name
	case c.Kind == "machine":
		return "the machine"
	}
	return strings.TrimSpace(c.Kind + " " + c.Name)
}

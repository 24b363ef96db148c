package change

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"kiln/render/change/field"
	"kiln/render/terminal"
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

// Signs for what happened to an entry.
var signs = map[string]string{Added: "+", Removed: "-", Changed: "~"}

// Text returns the difference for people.
func (d *Diff) Text(form Form) string {
	w := &writer{form: form}
	if !d.Changed() {
		w.line("nothing differs")
		return w.text.String()
	}
	if len(d.Cluster) > 0 {
		w.section("cluster " + d.new.Name)
		w.fields("  ", d.Cluster)
		w.end()
	}
	for _, g := range d.Groups {
		w.group(&g)
	}
	return w.text.String()
}

func (w *writer) group(g *Group) {
	title := g.title()
	if g.What != Changed {
		w.section(fmt.Sprintf("%s %s: %s, %s", signs[g.What], title, g.What, g.Is))
		w.end()
		return
	}
	w.section(title)
	for _, c := range g.Changes {
		w.change(&c)
	}
	w.end()
}

// title returns the names of the machines, and their number if they are many.
func (g *Group) title() string {
	return Names(g.Machines, g.Pools)
}

// Names returns a list of machines and pools. Three or more with consecutive numbers are one span.
func Names(machines, pools []string) string {
	var parts []string
	if len(machines) > 0 {
		text := spans(machines)
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

// spans returns a list of names. Three or more with consecutive numbers are "first … last".
func spans(names []string) string {
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
func (w *writer) change(c *Change) {
	name := c.title()
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
		w.colour(Added, "  + "+name)
		return
	}
	w.colour(c.What, "  "+signs[c.What]+" "+name)
	if c.What == Changed {
		w.fields("      ", c.Fields)
	}
}

// fields writes the values of each field, on one line or on two.
func (w *writer) fields(indent string, list []field.Field) {
	for _, f := range list {
		name := f.Name
		if name != "" {
			name += ": "
		}
		switch {
		case f.Old == nil && f.New == nil:
			w.line(indent + name)
		case f.Old == nil:
			w.colour(Added, indent+name+"+ "+*f.New)
		case f.New == nil:
			w.colour(Removed, indent+name+"- "+*f.Old)
		case utf8.RuneCountInString(*f.Old)+utf8.RuneCountInString(*f.New) <= maxWidth:
			w.line(indent + name + *f.Old + " → " + *f.New)
		default:
			w.line(indent + strings.TrimSuffix(name, " "))
			w.colour(Removed, indent+"  - "+*f.Old)
			w.colour(Added, indent+"  + "+*f.New)
		}
	}
}

// writer writes a report in one form. A section of Markdown is a diff block, in which signs have
// colours.
type writer struct {
	text strings.Builder
	form Form
	open bool // in a block of Markdown
}

// markdown escapes the characters with which a name could make an image, a link, HTML or emphasis
// (https://spec.commonmark.org/0.31.2/#backslash-escapes).
var markdown = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "~", `\~`,
	"!", `\!`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "&", `\&`)

// section begins a part of the report.
func (w *writer) section(title string) {
	title = terminal.Visible(title, "")
	if w.text.Len() > 0 {
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

// end ends a part.
func (w *writer) end() {
	if w.open {
		w.text.WriteString("```\n")
		w.open = false
	}
}

func (w *writer) line(text string) {
	w.write(terminal.Visible(text, "\t"))
}

// write writes a line that is safe for a terminal. Only colour may have added escapes to it.
func (w *writer) write(text string) {
	if w.open {
		// Three backquotes would end the block.
		text = strings.ReplaceAll(text, "```", "`` `")
	}
	w.text.WriteString(text + "\n")
}

var colours = map[string]string{Added: "\x1b[32m", Removed: "\x1b[31m"}

// colour writes a line in the colour of an added or removed value. In a block of Markdown the sign
// must be the line's first character.
func (w *writer) colour(what, text string) {
	text = terminal.Visible(text, "\t")
	switch {
	case w.form.Colour && colours[what] != "":
		text = colours[what] + text + "\x1b[0m"
	case w.open && what != Changed:
		text = signs[what] + strings.Replace(strings.TrimPrefix(text, " "), signs[what]+" ", "", 1)
	}
	w.write(text)
}

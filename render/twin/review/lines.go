package review

import (
	"fmt"
	"strings"

	"kiln.dev/kiln/render/secret"
	"kiln.dev/kiln/render/twin/change"
)

// MachineLine returns the line of a machine in the INDEX of a twin: its names, and what is known of
// it beside its entries.
func MachineLine(m *change.Machine) string {
	var b strings.Builder
	kind := "node"
	if m.Pool {
		kind = "pool"
	}
	fmt.Fprintf(&b, "%s %s %s %s %s %s", kind, m.Name, m.Role, m.OS, m.Platform, m.Format)
	for _, f := range m.Properties {
		fmt.Fprintf(&b, " %s %s", f.Name, f.Value)
	}
	b.WriteString("\n")
	return b.String()
}

// entryLines returns the lines of an entry in an INDEX. The first is for the entry. The lines of
// its certificates or settings are indented below it.
func entryLines(e *change.Entry) string {
	t := e.Traits
	line := (e.Kind + "    ")[:max(4, len(e.Kind))] + " "
	below := e.Shown
	switch e.Kind {
	case "file", "dir":
		if server, ok := t["server"]; ok { // the operator's kubeconfig, which is on no machine
			line += e.ID + " " + server
			break
		}
		line += t["mode"] + " " + t["owner"] + " " + e.ID
		if e.Content != nil {
			below = certificateLines(e.Content)
		}
	case "user":
		line += e.ID + " " + t["number"] + " " + t["home"]
	case "link":
		line += e.ID + " -> " + t["target"]
	case "unit":
		line += e.ID + " " + t["state"]
	case "key":
		line += e.ID
	default: // settings, whose content stands below the line
		line = e.Kind
		below = []string{strings.TrimSuffix(string(e.Content), "\n")}
	}
	switch e.Secret {
	case "":
	case secret.Redacted:
		line += " " + secret.Redacted
	default:
		line += " <secret " + e.Secret + ">"
	}
	if len(below) == 0 {
		return line + "\n"
	}
	text := strings.TrimSuffix(strings.Join(below, "\n"), "\n")
	return line + "\n" + indent + strings.ReplaceAll(text, "\n", "\n"+indent) + "\n"
}

// indent stands before the lines below an entry's line.
const indent = "     "

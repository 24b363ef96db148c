package document

import (
	"fmt"
	"strings"

	"kiln/render/facts/target"
)

// ReaderPage returns the table of kinds of readers as docs/exposure.md shows it, in Markdown.
func ReaderPage() string {
	var b strings.Builder
	b.WriteString("| reader | is | counts for `maxExposure` |\n|---|---|---|\n")
	for _, k := range target.ReaderKinds {
		counts := "no"
		if k.Counts {
			counts = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Name, k.Who, counts)
	}
	return b.String()
}

// PlatformPage returns the table of the readers of each platform as docs/exposure.md shows it, in
// Markdown. It leaves out those whom maxExposure does not count: every platform has them.
func PlatformPage() string {
	var b strings.Builder
	b.WriteString("| platform | reader | who reads a document there | closed by | source |\n" +
		"|---|---|---|---|---|\n")
	for i := range target.Platforms {
		p := &target.Platforms[i]
		found := false
		for _, r := range p.Readers {
			if !target.Counts(r.Kind) {
				continue
			}
			found = true
			closed := ""
			if r.Setting != "" {
				closed = "`" + r.Setting + ": deny`"
			}
			fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n",
				p.Name, r.Kind, r.Who, closed, r.Source)
		}
		if !found {
			fmt.Fprintf(&b, "| `%s` | | nobody else | | |\n", p.Name)
		}
	}
	return b.String()
}

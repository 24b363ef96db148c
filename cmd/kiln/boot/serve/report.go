package serve

import (
	"fmt"
	"io"
	"strings"
	"time"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/machine/images"
	"kiln.dev/kiln/render/text/wording"
)

// PrintStart prints what the server serves at url, to whom, and for how long from now.
func (s *Server) PrintStart(out io.Writer, url string) {
	name, _ := s.Cluster()
	term.Printf(out, "%s: the documents of %s for %s, until %s\n", url, name,
		wording.Count(s.Machines(), "machine"), time.Now().Add(s.window).Format(time.RFC3339))
	if s.peers.Any() {
		term.Printf(out, "to the machines' own addresses, and from: %s\n", s.peers)
	} else {
		term.Printf(out, "to the machines' own addresses alone; "+
			"others, such as those of DHCP, need --from\n")
	}
	term.Each(out, "%s\n", images.RegistryLines(s.Registries(url)))
	if s.catalogue.registry != nil && s.catalogue.programs {
		ca := ""
		if name := caOf(url); name != "" {
			ca = ", ca: " + name
		}
		term.Printf(out, "  binaries: {source: download, mirror: %q%s}\n", url, ca)
	}
	if fetched := s.Fetched(); len(fetched) > 0 {
		term.Printf(out, "fetched already: %s; --again NODE gives a document once more\n",
			term.Names(fetched))
	}
}

// Registries returns the rows of machines.registries with which machines pull from the server at a
// URL; none without an archive.
func (s *Server) Registries(url string) (rows []config.Registry) {
	if s.catalogue.registry != nil {
		for _, host := range s.catalogue.registry.hosts {
			rows = append(rows, config.Registry{Host: host, Mirrors: []string{url}, CA: caOf(url)})
		}
	}
	return rows
}

// caOf returns the CA with which machines verify the server at a URL.
func caOf(url string) string {
	if strings.HasPrefix(url, "https://") {
		return "cluster"
	}
	return ""
}

// StartWarnings returns notes about machines that will not get what they need.
func (s *Server) StartWarnings() (warnings []string) {
	if note := s.state.Note(); note != "" {
		warnings = append(warnings, note)
	}
	if names := s.Unreachable(); len(names) > 0 {
		warnings = append(warnings, fmt.Sprintf("%s: the addresses of its machines are not "+
			"known, so nobody gets the document; name their network: --from %s=10.0.8.0/22",
			strings.Join(names, ", "), names[0]))
	}
	if missing := s.Missing(); len(missing) > 0 {
		warnings = append(warnings, fmt.Sprintf("the scripts of kiln netboot name files that are "+
			"not there: %s; copy images to where they are named, run kiln netboot again for its "+
			"own files, and start kiln serve again", term.Names(missing)))
	}
	for _, line := range s.Withheld() {
		warnings = append(warnings, line+": nobody gets it; put the file that machines boot in "+
			"its place, or move it out of the folder")
	}
	return warnings
}

// PrintEnd prints which machines have not fetched a document, and what happened. lost is the number
// of lines that are missing on standard error.
func (s *Server) PrintEnd(out io.Writer, lost int) {
	left := s.Left()
	term.Printf(out, "%d of %s fetched a document\n",
		s.Machines()-len(left), wording.Count(s.Machines(), "machine"))
	if more := len(left) - term.MaxListed; more > 0 {
		left = append(left[:term.MaxListed], fmt.Sprintf("and %d more", more))
	}
	if len(left) > 0 {
		term.Printf(out, "not fetched: %s\n", strings.Join(left, ", "))
	}
	term.Each(out, "%s\n", s.Alarms())
	if lost += s.LostLines(); lost > 0 {
		term.Printf(out, "lines that are not in the log or on standard error: %d\n", lost)
	}
}

// Summary is what PrintEnd prints, for programs.
type Summary struct {
	Name       string   `json:"name"`
	Cluster    string   `json:"cluster"` // the cluster's UUID
	Machines   int      `json:"machines"`
	Fetched    []string `json:"fetched"`
	NotFetched []string `json:"notFetched"`
	Alarms     []string `json:"alarms"`
	LostLines  int      `json:"lostLines"`
}

// Summary returns which machines have fetched a document, and what happened. lost is the number of
// lines that are missing on standard error.
func (s *Server) Summary(lost int) Summary {
	name, id := s.Cluster()
	return Summary{
		Name: name, Cluster: id, Machines: s.Machines(),
		Fetched: term.NonNil(s.Fetched()), NotFetched: term.NonNil(s.Left()),
		Alarms: term.NonNil(s.Alarms()), LostLines: lost + s.LostLines(),
	}
}

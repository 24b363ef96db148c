package serve

import (
	"fmt"
	"maps"
	"slices"
)

// Cluster returns the name and the UUID of the cluster whose documents are served.
func (s *Server) Cluster() (name, id string) { return s.catalogue.cluster, s.catalogue.id }

// Machines returns the number of machines and pools.
func (s *Server) Machines() int { return len(s.catalogue.folders) }

// Left lists the machines and pools that have not fetched their document yet, or their body if they
// have one, by name.
func (s *Server) Left() []string {
	documents, bodies := map[string]bool{}, map[string]bool{}
	for _, it := range s.catalogue.items {
		switch {
		case it.body:
			bodies[it.node] = s.isFetched(it)
		case it.once && s.isFetched(it):
			documents[it.node] = true
		}
	}
	var left []string
	for name := range s.catalogue.folders {
		done, hasBody := bodies[name]
		if !hasBody {
			done = documents[name]
		}
		if !done {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	return left
}

// Fetched lists the other machines and pools, by name.
func (s *Server) Fetched() []string {
	left := s.Left()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.catalogue.folders)), func(name string) bool {
		return slices.Contains(left, name)
	})
}

// isFetched reports whether somebody has fetched the present content of an item. An older content
// does not count.
func (s *Server) isFetched(it *item) bool {
	document := it.document()
	if !s.state.IsFetched(document.path) {
		return false // without reading the file
	}
	given := &Fetch{Path: document.path, SHA256: document.given}
	return document.isStill(document.given) && s.state.Count(given) > 0
}

// Alarms returns a line for each kind of alarm, with the number of alarms.
func (s *Server) Alarms() []string { return s.alarms.summary() }

// LostLines returns the number of lines that the log lacks.
func (s *Server) LostLines() int { return s.audit.queue.Lost() }

// Missing lists the files that the scripts of kiln netboot name below their own address and that do
// not exist, by path.
func (s *Server) Missing() []string { return s.catalogue.missing }

// Withheld lists the files in the folders of kiln netboot that everybody would get and nobody gets,
// by path, with the reasons.
func (s *Server) Withheld() (lines []string) {
	for path, reason := range s.catalogue.withheld {
		lines = append(lines, fmt.Sprintf("%s: %v", path, reason))
	}
	slices.Sort(lines)
	return lines
}

// Unreachable lists the machines and pools without a known address or network, by name. Nobody may
// fetch their documents.
func (s *Server) Unreachable() []string {
	var names []string
	for name := range s.catalogue.folders {
		known := len(s.catalogue.addresses[name]) + len(s.peers.of[""]) + len(s.peers.of[name])
		if known == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

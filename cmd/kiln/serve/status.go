package serve

import (
	"maps"
	"slices"
)

// fetched reports whether somebody has what lies in the folder now: who has an older one still has to come.
func (s *Server) fetched(it *item) bool {
	if !s.state.fetched(it.path) {
		return false
	}
	data, err := it.read()
	return err == nil && s.state.count(&fetch{Path: it.path, SHA256: hexSum(data, 0)}) > 0
}

// Left lists the machines and pools that have not fetched a document yet, or their body if they have one, by name.
func (s *Server) Left() []string {
	fetched, bodies := map[string]bool{}, map[string]bool{}
	for _, it := range s.catalogue.items {
		switch {
		case it.body:
			bodies[it.node] = s.fetched(it)
		case it.once && s.fetched(it):
			fetched[it.node] = true
		}
	}
	var left []string
	for name := range s.catalogue.folders {
		if body, has := bodies[name]; has && !body || !has && !fetched[name] {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	return left
}

// Given lists the machines and pools that are not left, by name.
func (s *Server) Given() []string {
	left := s.Left()
	var given []string
	for _, name := range slices.Sorted(maps.Keys(s.catalogue.folders)) {
		if !slices.Contains(left, name) {
			given = append(given, name)
		}
	}
	return given
}

// Machines says how many machines and pools there are.
func (s *Server) Machines() int { return len(s.catalogue.folders) }

// Cluster returns name and UUID of the cluster whose documents are served.
func (s *Server) Cluster() (name, id string) { return s.catalogue.cluster, s.catalogue.id }

// Alarms counts what a person had to know, a line for each kind.
func (s *Server) Alarms() []string { return s.alarms.summary() }

// LostLines says how many lines the log has not got.
func (s *Server) LostLines() int { return s.audit.queue.Lost() }

// Missing lists files that kiln netboot's scripts name below their own address, and that the server
// does not give because they are not there, sorted.
func (s *Server) Missing() []string { return s.catalogue.missing }

// Unreachable lists the machines and pools of which no address and no network is known: nobody may
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

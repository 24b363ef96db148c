package serve

import "time"

// SetBounds changes bounds that a test cannot wait for: the time for a client to send a body, and
// the connections of one address. Call it before Serve.
func (s *Server) SetBounds(hearTime time.Duration, connections int) {
	s.hearTime, s.door.Most = hearTime, connections
}

// SetRoom changes the number of all open connections. Call it before Serve.
func (s *Server) SetRoom(all int) { s.door.All = all }

// SetPatience changes how long a client may take for the least number of bytes. Call it before
// Serve.
func (s *Server) SetPatience(t time.Duration) { s.patience = t }

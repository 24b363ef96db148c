package patches

// Matches reports whether p selects any object of a stream.
func (p *Patch) Matches(stream []byte) bool { return p.count(stream) > 0 }

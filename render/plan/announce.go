package plan

// Announces reports whether m announces the state of its first boot to a server.
func (m *Machine) Announces() bool { return m.Settings.Report.URL != "" }

// AnnouncePath returns the path of the URL to which m announces, below that of the configuration.
// The machines of a pool share one.
func AnnouncePath(name string, pool bool) string {
	if pool {
		return "/announce/pools/" + name
	}
	return "/announce/" + name
}

// AnnounceURL returns that URL.
func (m *Machine) AnnounceURL() string {
	return m.Settings.Report.URL + AnnouncePath(m.Name, m.Pool)
}

// AnnounceTrust returns the path of the CA that m trusts there; empty for those of its system.
func (m *Machine) AnnounceTrust() string {
	switch r := &m.Settings.Report; {
	case r.CA == "cluster" && m.Joins():
		return CACert
	case r.CA == "cluster" || r.CAFrom != "":
		return AnnounceCA
	}
	return ""
}

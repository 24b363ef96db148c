package config

import (
	"time"

	"kiln/render/yamlpath"
)

// Limits of a window for updates.
const (
	minWindow = 10 * time.Minute
	day       = 24 * time.Hour
)

// WindowStart returns a time with the day of the week and the time of day of a start, and whether
// the start has a day.
func WindowStart(text string) (begin time.Time, weekly bool) {
	// time.Parse reads a day of the week and does not use it. One of any seven days has the text.
	for d := range 7 {
		for _, form := range []string{"15:04", "Mon 15:04"} {
			t, err := time.Parse(form, text)
			if t = t.AddDate(2000, 0, d); err == nil && t.Format(form) == text {
				return t, form != "15:04"
			}
		}
	}
	return time.Time{}, false
}

// updates checks the updates of a layer's machines.
func (v *checker) updates(u *Updates, at *yamlpath.Location) {
	if u.Policy != UpdatesWindow {
		if u.Start != "" || u.Length != 0 {
			v.report(at, "has a window, and only policy window has one; write it, or remove "+
				"start and length")
		}
		return
	}
	if begin, _ := WindowStart(u.Start); begin.IsZero() {
		v.report(at.Key("start"), "%s is not the start of a window; write a time of day, with a "+
			"day of the week before it if you like: 02:00, or Sun 02:00", quote(u.Start))
	}
	l := time.Duration(u.Length)
	if l < minWindow || l > day || l%time.Minute != 0 {
		v.report(at.Key("length"), "%s is not the length of a window; write whole minutes, "+
			"10m to 24h", u.Length)
	}
}

// updateWindow checks that a machine's system can keep updates to a window, and that the windows of
// all control planes and etcd machines fit behind each other.
func (v *checker) updateWindow(m settings) {
	if m.Updates.Policy != UpdatesWindow {
		return
	}
	if !m.system().Updater.HasWindow() {
		v.reportLayer(m, narrower(m, "updates", "os"), "policy window: %s, which %s has, does not "+
			"update itself in one; write policy: none, and replace machines by newer images",
			m.OS, m.name)
	}
	turns := len(v.controlPlanes) + len(v.etcdMachines)
	around := day
	if _, weekly := WindowStart(m.Updates.Start); weekly {
		around = 7 * day
	}
	if time.Duration(turns)*time.Duration(m.Updates.Length) > around {
		v.reportLayer(m, "updates", "%d control planes and etcd machines need windows one after the "+
			"other, and %d of %s do not fit; write a shorter length", turns, turns, m.Updates.Length)
	}
}

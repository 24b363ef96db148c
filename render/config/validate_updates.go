package config

import (
	"slices"
	"time"

	"kiln/render/text/yamltext"
)

// Limits of a window for updates. The last quarter of an hour of the shortest one is for a reboot.
const (
	minWindow = 30 * time.Minute
	day       = 24 * time.Hour
)

// WindowStart returns a time with the day of the week and the time of day of a start, and whether
// the start has a day.
func WindowStart(text string) (begin time.Time, weekly bool) {
	// time.Parse reads a day of the week and ignores it. So this looks for a date that prints as
	// the text, among seven days.
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
func (v *checker) updates(u *Updates, at *yamltext.Location) {
	if u.Policy != UpdatesWindow {
		if u.Start != "" || u.Length != 0 {
			v.report(at, "start and length are for policy window; write policy: window, or remove "+
				"them")
		}
		return
	}
	if begin, _ := WindowStart(u.Start); u.Start == "" {
		v.report(at.Key("start"), "missing; write when the window begins: 02:00, or Sun 02:00")
	} else if begin.IsZero() {
		v.report(at.Key("start"), "%s is not the start of a window; write a time of day, with a "+
			"day of the week before it if you like: 02:00, or Sun 02:00", quote(u.Start))
	}
	l := time.Duration(u.Length)
	if l == 0 {
		v.report(at.Key("length"), "missing; write how long the window is, such as 1h")
	} else if l < minWindow || l > day || l%time.Minute != 0 {
		v.report(at.Key("length"), "%s is not the length of a window; write whole minutes, "+
			"30m to 24h", u.Length)
	}
}

// updateWindow checks that a machine's system can keep updates to a window.
func (v *checker) updateWindow(m settings) {
	if m.Updates.Policy == UpdatesWindow && !m.system().Updater.HasWindow() {
		v.reportLayer(m, narrower(m, "updates", "os"), "%s, which %s has, has no program that "+
			"keeps updates to a window; write policy: none, and replace machines by newer images",
			m.OS, m.name)
	}
}

// updateTurns checks that the windows of the machines of a role lie behind each other, and that no
// other of these machines reboots when it likes.
func (v *checker) updateTurns(all []settings) {
	isWindow := func(m settings) bool { return m.Updates.Policy == UpdatesWindow }
	i := slices.IndexFunc(all, isWindow)
	if i < 0 {
		return
	}
	first, machines := all[i], 0
	for _, m := range all {
		switch {
		case !isWindow(m) && m.Updates.Policy != UpdatesNone:
			v.reportLayer(m, "updates", "%s may reboot at any time, also while %s does in its "+
				"window; give all machines of a role the policy window or none", m.name, first.name)
		case isWindow(m) && m.Updates != first.Updates:
			v.reportLayer(m, "updates", "%s and %s have windows of their own, and machines of a "+
				"role take turns in one; set start and length for all of them in one layer",
				first.name, m.name)
		case isWindow(m):
			machines++
		}
	}
	around := day
	if _, weekly := WindowStart(first.Updates.Start); weekly {
		around = 7 * day
	}
	if need := time.Duration(machines) * time.Duration(first.Updates.Length); need > around {
		v.reportLayer(first, "updates", "%d machines take turns and need %s, and after %s the "+
			"first window begins again; write a shorter length",
			machines, Duration(need), Duration(around))
	}
}

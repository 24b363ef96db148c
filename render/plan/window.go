package plan

import (
	"time"

	"kiln/render/config"
)

// Window is when a machine may install updates and reboot, each day or once a week.
type Window struct {
	begin  time.Time // any day, or one of the day of the week
	Weekly bool
	Length time.Duration
}

// Window returns when the machine may update itself with policy window: machines with the control
// plane or a member of etcd one after the other, in the order of their names, all others at once.
func (m *Machine) Window() Window {
	u := &m.Settings.Updates
	begin, weekly := config.WindowStart(u.Start)
	return Window{begin.Add(time.Duration(m.UpdateTurn) * time.Duration(u.Length)), weekly,
		time.Duration(u.Length)}
}

// Day returns the day of the week as systemd and the others write it: Sun.
func (w Window) Day() string { return w.begin.Format("Mon") }

// Time returns the time of day: 02:00.
func (w Window) Time() string { return w.begin.Format("15:04") }

// Start returns the day, if the window is weekly, and the time: Sun 02:00.
func (w Window) Start() string {
	if w.Weekly {
		return w.begin.Format("Mon 15:04")
	}
	return w.Time()
}

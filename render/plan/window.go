package plan

import (
	"time"

	"kiln/render/config"
)

// rebootTime is the end of a machine's part of the window, in which it begins no reboot, so that it
// is back when the next machine's part begins.
const rebootTime = 15 * time.Minute

// Window is when a machine may install updates and begin to reboot, in UTC, each day or once a
// week.
type Window struct {
	begin  time.Time // a date on the day of the week if Weekly, else any date
	Weekly bool
	Length time.Duration
}

// Window returns when the machine may update itself with policy window: control planes one after
// the other in the order of their names, etcd machines likewise, workers all at once.
func (m *Machine) Window() Window {
	u := &m.Settings.Updates
	begin, weekly := config.WindowStart(u.Start)
	length := time.Duration(u.Length)
	turn := time.Duration(m.UpdateTurn) * length
	return Window{begin: begin.Add(turn), Weekly: weekly, Length: length - rebootTime}
}

// Day returns the day of the week in three letters: Sun.
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

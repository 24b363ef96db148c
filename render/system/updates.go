package system

import (
	"fmt"
	"strings"
	"time"

	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/target"
)

// The updates of a system: files, units that never start, and what has to be done while it runs.
type updates struct {
	files    []node.File
	masked   []string
	commands []string
}

// file adds a file that sets when the system updates itself.
func (u *updates) file(path string, lines ...string) {
	u.files = append(u.files, node.File{
		Path: path, Mode: 0o644, Content: []byte(strings.Join(lines, "\n") + "\n"),
		Why: "when the system updates itself",
	})
}

// mask keeps units from starting, and stops those that cloud-init finds running.
func (u *updates) mask(units ...string) {
	u.masked = append(u.masked, units...)
	u.commands = append(u.commands, "-systemctl --no-block stop "+strings.Join(units, " "))
}

// Files that several policies write.
const (
	updateConf  = "/etc/flatcar/update.conf"
	zincatiConf = "/etc/zincati/config.d/90-kiln.toml"
	aptConf     = "/etc/apt/apt.conf.d/90-kiln"
)

// noUpdates holds for each updater what turns it off: Flatcar's "Disabling automatic updates",
// zincati's "Auto-updates configuration", transactional-update(8), apt.systemd.daily,
// dnf-automatic(8).
var noUpdates = map[target.Updater]func(*updates){
	target.UpdateEngine: func(u *updates) {
		u.file(updateConf, "SERVER=disabled", "REBOOT_STRATEGY=off")
	},
	target.Zincati: func(u *updates) { u.file(zincatiConf, "[updates]", "enabled = false") },
	target.TransactionalUpdate: func(u *updates) {
		u.mask("transactional-update.timer", "rebootmgr.service")
	},
	target.UnattendedUpgrades: func(u *updates) {
		u.file(aptConf, `APT::Periodic::Update-Package-Lists "0";`,
			`APT::Periodic::Unattended-Upgrade "0";`)
	},
	target.DNFAutomatic: func(u *updates) {
		u.mask("dnf-automatic.timer", "dnf-automatic-install.timer", "dnf5-automatic.timer")
	},
}

// updatesIn holds for each updater with windows what keeps it to one, in the machine's time zone.
var updatesIn = map[target.Updater]func(*updates, plan.Window){
	target.UpdateEngine: func(u *updates, w plan.Window) {
		u.file(updateConf, "REBOOT_STRATEGY=reboot",
			`LOCKSMITHD_REBOOT_WINDOW_START="`+w.Start()+`"`,
			"LOCKSMITHD_REBOOT_WINDOW_LENGTH="+config.Duration(w.Length).String())
	},
	target.Zincati: func(u *updates, w plan.Window) {
		days := `"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"`
		if w.Weekly {
			days = `"` + w.Day() + `"`
		}
		u.file(zincatiConf, "[updates]", `strategy = "periodic"`, "[updates.periodic]",
			`time_zone = "localtime"`, "[[updates.periodic.window]]",
			"days = [ "+days+" ]", `start_time = "`+w.Time()+`"`,
			fmt.Sprintf("length_minutes = %d", w.Length/time.Minute))
	},
	target.TransactionalUpdate: func(u *updates, w plan.Window) {
		u.file("/etc/rebootmgr.conf", "[rebootmgr]", "window-start="+w.Start(),
			"window-duration="+config.Duration(w.Length).String(), "strategy=maint-window",
			"lock-group=default")
	},
	target.UnattendedUpgrades: func(u *updates, w plan.Window) {
		u.file(aptConf, `APT::Periodic::Update-Package-Lists "1";`,
			`APT::Periodic::Unattended-Upgrade "1";`,
			`Unattended-Upgrade::Automatic-Reboot "true";`,
			`Unattended-Upgrade::Automatic-Reboot-Time "now";`)
		const timer = "apt-daily-upgrade.timer"
		u.file(plan.UnitDir+"/"+timer+".d/90-kiln.conf", "[Timer]", "OnCalendar=",
			"OnCalendar="+w.Start(), "RandomizedDelaySec=0", "Persistent=false")
		u.commands = append(u.commands, "-systemctl --no-block try-restart "+timer)
	},
}

// updatesOf returns what a machine's policy makes of its updates; nothing if they are the image's.
func updatesOf(m *plan.Machine) (u updates) {
	switch m.Settings.Updates.Policy {
	case config.UpdatesNone:
		noUpdates[m.System.Updater](&u)
	case config.UpdatesWindow:
		updatesIn[m.System.Updater](&u, m.Window())
	}
	return u
}

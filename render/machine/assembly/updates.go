package assembly

import (
	"fmt"
	"strings"
	"time"

	"kiln/render/config"
	"kiln/render/facts/node"
	"kiln/render/facts/target"
	"kiln/render/plan"
)

// updates collects what a policy of updates asks for.
type updates struct {
	files    []node.File
	masked   []string // units that never start
	commands []string // of target.SystemUnit
}

// file adds a file that sets when the system updates itself.
func (u *updates) file(path string, lines ...string) {
	u.files = append(u.files, node.File{
		Path: path, Mode: 0o644, Content: []byte(strings.Join(lines, "\n") + "\n"),
		Why: "when the system updates itself",
	})
}

// mask keeps units from starting, and stops those that run already: with cloud-init the system is
// up before the files are written.
func (u *updates) mask(units ...string) {
	u.masked = append(u.masked, units...)
	u.commands = append(u.commands, "-systemctl --no-block stop "+strings.Join(units, " "))
}

// inUTC gives a unit a clock in UTC.
func (u *updates) inUTC(unit string) {
	u.file(plan.UnitDir+"/"+unit+".d/90-kiln.conf", "[Service]", "Environment=TZ=UTC")
}

// Files that several policies write.
const (
	updateConf  = "/etc/flatcar/update.conf"
	zincatiConf = "/etc/zincati/config.d/90-kiln.toml"
	aptConf     = "/etc/apt/apt.conf.d/90-kiln"
)

// noUpdates holds for each updater what turns it off. Read in November 2026: Flatcar's page
// "Disabling automatic updates", zincati's "Auto-updates configuration", transactional-update(8),
// apt.systemd.daily of Debian 13, dnf-automatic(8) and dnf5-automatic(8).
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

// windowedUpdates holds for each updater with windows (Updater.HasWindow) what keeps it to one. The
// times are in UTC whatever the machine's time zone is: when clocks are set forward, the windows of
// two machines would begin together. Read in November 2026: Flatcar's page "Reboot strategies on
// updates", zincati's "Auto-updates strategy", rebootmgr.conf(5) of version 3,
// 50unattended-upgrades of Debian 13.
var windowedUpdates = map[target.Updater]func(*updates, plan.Window){
	target.UpdateEngine: func(u *updates, w plan.Window) {
		u.file(updateConf, "REBOOT_STRATEGY=reboot",
			`LOCKSMITHD_REBOOT_WINDOW_START="`+w.Start()+`"`,
			"LOCKSMITHD_REBOOT_WINDOW_LENGTH="+config.Duration(w.Length).String())
		u.inUTC("locksmithd.service")
	},
	target.Zincati: func(u *updates, w plan.Window) {
		days := `"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"`
		if w.Weekly {
			days = `"` + w.Day() + `"`
		}
		u.file(zincatiConf, "[updates]", `strategy = "periodic"`, "[updates.periodic]",
			`time_zone = "UTC"`, "[[updates.periodic.window]]",
			"days = [ "+days+" ]", `start_time = "`+w.Time()+`"`,
			fmt.Sprintf("length_minutes = %d", w.Length/time.Minute))
	},
	target.TransactionalUpdate: func(u *updates, w plan.Window) {
		u.file("/etc/rebootmgr/rebootmgr.conf.d/90-kiln.conf", "[rebootmgr]",
			"window-start="+w.Start(),
			"window-duration="+config.Duration(w.Length).String(), "strategy=maint-window")
		u.inUTC("rebootmgr.service")
	},
	// The timer starts the updates when the window begins, and they reboot as soon as they are
	// done. apt knows no end of a window: the length is only the distance to the next machine.
	target.UnattendedUpgrades: func(u *updates, w plan.Window) {
		u.file(aptConf, `APT::Periodic::Update-Package-Lists "1";`,
			`APT::Periodic::Unattended-Upgrade "1";`,
			`Unattended-Upgrade::Automatic-Reboot "true";`,
			`Unattended-Upgrade::Automatic-Reboot-Time "now";`)
		const timer = "apt-daily-upgrade.timer"
		u.file(plan.UnitDir+"/"+timer+".d/90-kiln.conf", "[Timer]", "OnCalendar=",
			"OnCalendar="+w.Start()+" UTC", "RandomizedDelaySec=0", "Persistent=false")
		u.commands = append(u.commands, "-systemctl --no-block try-restart "+timer)
	},
}

// updatesOf returns what a machine's policy asks for; nothing with policy image.
func updatesOf(m *plan.Machine) (u updates) {
	switch m.Settings.Updates.Policy {
	case config.UpdatesNone:
		noUpdates[m.System.Updater](&u)
	case config.UpdatesWindow:
		windowedUpdates[m.System.Updater](&u, m.Window())
	}
	return u
}

package assembly

import (
	"strings"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
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

// noUpdates holds for each updater what turns it off. Read in November 2026: Flatcar's page
// "Disabling automatic updates", zincati's "Auto-updates configuration", transactional-update(8),
// apt.systemd.daily of Debian 13, dnf-automatic(8) and dnf5-automatic(8).
var noUpdates = map[target.Updater]func(*updates){
	target.UpdateEngine: func(u *updates) {
		u.file("/etc/flatcar/update.conf", "SERVER=disabled", "REBOOT_STRATEGY=off")
	},
	target.Zincati: func(u *updates) {
		u.file("/etc/zincati/config.d/90-kiln.toml", "[updates]", "enabled = false")
	},
	target.TransactionalUpdate: func(u *updates) {
		u.mask("transactional-update.timer", "rebootmgr.service")
	},
	target.UnattendedUpgrades: func(u *updates) {
		u.file("/etc/apt/apt.conf.d/90-kiln", `APT::Periodic::Update-Package-Lists "0";`,
			`APT::Periodic::Unattended-Upgrade "0";`)
	},
	target.DNFAutomatic: func(u *updates) {
		u.mask("dnf-automatic.timer", "dnf-automatic-install.timer", "dnf5-automatic.timer")
	},
}

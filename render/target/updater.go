package target

// Updater is what updates an operating system by itself, and reboots it for that.
type Updater string

// The updaters. Each is named after the program that installs updates.
const (
	UpdateEngine        Updater = "update-engine" // reboots are locksmith's
	Zincati             Updater = "zincati"
	TransactionalUpdate Updater = "transactional-update" // reboots are rebootmgr's
	UnattendedUpgrades  Updater = "unattended-upgrades"
	// DNFAutomatic is in no image out of the box.
	DNFAutomatic Updater = "dnf-automatic"
)

// HasWindow reports whether updates can be kept to a window.
func (u Updater) HasWindow() bool { return u != DNFAutomatic }

package target

// Updater is the program that installs a system's updates by itself.
type Updater string

// The updaters.
const (
	UpdateEngine        Updater = "update-engine"        // locksmith reboots
	Zincati             Updater = "zincati"              // reboots itself
	TransactionalUpdate Updater = "transactional-update" // rebootmgr reboots
	UnattendedUpgrades  Updater = "unattended-upgrades"  // reboots if it is told to
	DNFAutomatic        Updater = "dnf-automatic"        // a package that no image has
)

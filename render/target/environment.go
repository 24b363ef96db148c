package target

import (
	_ "embed" // for the names of time zones
	"strings"
)

// TimeService is a program that sets a machine's clock from time servers.
type TimeService struct {
	Unit string
	// Path is where kiln writes the program's configuration. A drop-in of systemd-timesyncd adds to
	// the image's own; chrony has one file, which is replaced.
	Path   string
	Chrony bool // Path is read by chronyd(8); otherwise by systemd-timesyncd
}

// Programs that set the clock.
var (
	timesyncd = TimeService{
		Unit: "systemd-timesyncd.service", Path: "/etc/systemd/timesyncd.conf.d/90-kiln.conf",
	}
	chronyd      = TimeService{Unit: "chronyd.service", Path: "/etc/chrony.conf", Chrony: true}
	debianChrony = TimeService{
		Unit: "chrony.service", Path: "/etc/chrony/chrony.conf", Chrony: true,
	}
)

// Trust is how a system is told of CAs that its programs are to trust.
type Trust struct {
	// Dir is the folder with a certificate in each file, and Suffix how the files' names end.
	Dir, Suffix string
	// Update is the program that makes of the folder what other programs read.
	Update string
}

// File returns the path of a certificate by its number.
func (t Trust) File(number string) string { return t.Prefix() + number + t.Suffix }

// Prefix returns how the paths of kiln's certificates begin.
func (t Trust) Prefix() string { return t.Dir + "/kiln-" }

// Trust of the systems: update-ca-certificates(8) and update-ca-trust(8), Flatcar's "Adding
// certificate authorities".
var (
	inDebian  = Trust{Dir: debianAnchors, Suffix: ".crt", Update: "update-ca-certificates"}
	inFlatcar = Trust{Dir: etcSSLCerts, Suffix: ".pem", Update: "update-ca-certificates"}
	inRedHat  = Trust{Dir: redHatTrust + "/source/anchors", Suffix: ".crt", Update: "update-ca-trust"}
	inSUSE    = Trust{Dir: suseTrust + "/anchors", Suffix: ".crt", Update: "update-ca-certificates"}
)

// Files about a machine's surroundings that every system has.
const (
	HostsFile  = "/etc/hosts"
	SystemUnit = "kiln-system.service"
)

//go:embed timezones
var timeZones string

// TimeZones returns the names of time zones, sorted: those of zone.tab in the IANA database 2025b,
// UTC, and those of Etc with a fixed distance to it. Older names, such as US/Eastern, are missing in
// the images of Ubuntu 24.04 and Debian 13 (package tzdata-legacy).
func TimeZones() []string { return strings.Fields(timeZones) }

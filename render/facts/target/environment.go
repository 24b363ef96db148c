package target

import (
	_ "embed" // for the names of time zones
	"fmt"
	"slices"
	"strings"
)

// TimeService is a program that sets a machine's clock from time servers.
type TimeService struct {
	Unit string
	// Path is where kiln writes the program's configuration: a drop-in for systemd-timesyncd, for
	// the others the whole file.
	Path    string
	Program string // Timesyncd, Chrony or NTPD, which read different forms
}

// The programs of time services.
const (
	Timesyncd = "systemd-timesyncd"
	Chrony    = "chrony"
	NTPD      = "ntpd"
)

// Time services.
var (
	timesyncd = TimeService{
		"systemd-timesyncd.service", "/etc/systemd/timesyncd.conf.d/90-kiln.conf", Timesyncd,
	}
	chronyd       = TimeService{"chronyd.service", "/etc/chrony.conf", Chrony}
	debianChrony  = TimeService{"chrony.service", "/etc/chrony/chrony.conf", Chrony}
	flatcarChrony = TimeService{"chronyd.service", "/etc/chrony/chrony.conf", Chrony}
	ntpd          = TimeService{"ntpd.service", "/etc/ntp.conf", NTPD}
)

// TimeServicesNamed returns the program with that name as the system has it, or as most systems do
// if its stock images are without it. It returns none for an unknown name.
func (s *System) TimeServicesNamed(program string) []TimeService {
	known := slices.Concat(s.TimeServices, []TimeService{timesyncd, chronyd, ntpd})
	i := slices.IndexFunc(known, func(t TimeService) bool { return t.Program == program })
	if i < 0 {
		return nil
	}
	return known[i : i+1]
}

// Trust says where a system reads further CAs from.
type Trust struct {
	// Dir is the folder with a certificate in each file, and Suffix how the files' names end.
	Dir, Suffix string
	// Update is the command that makes of the folder the list that programs read.
	Update string
}

// File returns the path of kiln's certificate with that number.
func (t Trust) File(number int) string {
	return fmt.Sprintf("%s/kiln-%d%s", t.Dir, number, t.Suffix)
}

// Where the systems read further CAs from: update-ca-certificates(8) of Debian 13 and of openSUSE,
// update-ca-trust(8) of Fedora 42, Flatcar's page "Adding certificate authorities".
var (
	inDebian  = Trust{debianAnchors, ".crt", "update-ca-certificates"}
	inFlatcar = Trust{etcSSLCerts, ".pem", "update-ca-certificates"}
	inRedHat  = Trust{redHatTrust + "/source/anchors", ".crt", "update-ca-trust"}
	inSUSE    = Trust{suseTrust + "/anchors", ".crt", "update-ca-certificates"}
)

// HostsFile is the file with names that a machine knows without DNS.
const HostsFile = "/etc/hosts"

// SystemUnit is the unit that runs commands for the surroundings of a machine.
const SystemUnit = "kiln-system.service"

//go:embed timezones
var timeZones string

// TimeZones returns the names of the time zones that every image has, sorted: those of zone.tab in
// the IANA database 2025b, UTC, and those of Etc with a fixed distance to it. Older names, such as
// US/Eastern, are missing on Ubuntu 24.04 and Debian 13, where they are in package tzdata-legacy.
func TimeZones() []string { return strings.Fields(timeZones) }

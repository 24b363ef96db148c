package config

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"kiln.dev/kiln/render/text/yamltext"
)

// maxSnapshots is the most snapshots that a member of etcd keeps.
const maxSnapshots = 10000

// BackupPeriods are the times that may lie between two snapshots. Each fits whole into a day, so
// that a systemd calendar can name the times of the snapshots.
var BackupPeriods = []time.Duration{
	15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 8 * time.Hour,
	12 * time.Hour, 24 * time.Hour,
}

// backupDirectory matches folders that a shell, the options of a mount and a person read in the
// same way.
var backupDirectory = regexp.MustCompile(`^/[A-Za-z0-9._/-]+$`)

// backup checks the folder of the snapshots, the time between them, and how many stay.
func (v *checker) backup(b *EtcdBackup, at *yamltext.Location) {
	if b == nil {
		return
	}
	here := at.Key("directory")
	problem := filePathProblem(b.Directory)
	switch {
	case problem != "":
		v.report(here, "%s %s", quote(b.Directory), problem)
	case !backupDirectory.MatchString(b.Directory):
		v.report(here, "%s has characters that a folder for snapshots must not have; "+
			"use letters, digits, '.', '_' and '-'", quote(b.Directory))
	case below("/etc", b.Directory) || strings.HasPrefix(b.Directory, "/boot"):
		v.report(here, "%s is no place for data; write a folder such as /var/backups/etcd",
			quote(b.Directory))
	}
	if !slices.Contains(BackupPeriods, time.Duration(b.Every)) {
		v.report(at.Key("every"),
			"%s does not fit whole into a day; write 15m, 30m, 1h, 2h, 3h, 4h, 6h, 8h, 12h or 24h",
			b.Every)
	}
	if b.Keep < 1 || b.Keep > maxSnapshots {
		v.report(at.Key("keep"), "%d is not a number of snapshots; write 1 to %d", b.Keep,
			maxSnapshots)
	}
}

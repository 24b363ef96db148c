package config

import (
	"regexp"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/text/yamltext"
)

// Bounds of limits.
const (
	minNoFile = 1024    // systemd's own soft limit
	maxNoFile = 1 << 20 // fs.nr_open of the kernel; Debian and Ubuntu keep it
	// minMemLock is systemd's default. /etc/security/limits.conf counts in KiB, so a number from
	// there is less.
	minMemLock = 8 << 20
	unlimited  = 1<<63 - 1
)

// memory matches an amount of memory as systemd reads it (systemd.exec(5)).
var memory = regexp.MustCompile(`^([1-9][0-9]{0,14})([KMGT]?)$`)

// limits checks the limits of a layer's machines.
func (v *checker) limits(l *Limits, at *yamltext.Location) {
	v.limit(l.NoFile, at.Key("nofile"), func(text string) (n int64, problem string) {
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case text == "infinity":
			return 0, "infinity is a thousand million files on most systems, and programs that " +
				"close every possible one hang (containerd#8924); write 1048576, the most"
		case err != nil || text != strconv.FormatInt(n, 10):
			return 0, quote(text) + " is not a number of files; write a number such as 1048576, " +
				"or two such as 65536:1048576"
		case n < minNoFile || n > maxNoFile:
			return 0, text + " is not between 1024, which every process has anyway, and 1048576, " +
				"the most that stock kernels allow (fs.nr_open); correct it"
		}
		return n, ""
	})
	v.limit(l.MemLock, at.Key("memlock"), func(text string) (n int64, problem string) {
		m := memory.FindStringSubmatch(text)
		if text == "infinity" {
			return unlimited, ""
		} else if m == nil {
			return 0, quote(text) + " is not an amount of memory; write bytes, a number such as " +
				"64M or 1G, or infinity"
		}
		n, _ = strconv.ParseInt(m[1], 10, 64)
		shift := 10 * (strings.Index("KMGT", m[2]) + 1)
		if m[2] == "" {
			shift = 0
		}
		if n > unlimited>>shift {
			return 0, text + " is more than a processor can count; write infinity"
		}
		if n <<= shift; n < minMemLock {
			return 0, text + " is less than the 8M that every process has anyway; write bytes, " +
				"not KiB as in limits.conf, or a number with M or G"
		}
		return n, ""
	})
}

// limit checks one limit, or a soft and a hard one. read returns the value of each, or why it is
// none.
func (v *checker) limit(
	text string, at *yamltext.Location, read func(string) (n int64, problem string),
) {
	if text == "" {
		return
	}
	soft, hard, two := strings.Cut(text, ":")
	least, problem := read(soft)
	if most := least; problem == "" && two {
		if most, problem = read(hard); problem == "" && most < least {
			problem = "begins with " + soft + " and may not go beyond " + hard +
				", which is less; write the smaller one first"
		}
	}
	if problem != "" {
		v.report(at, "%s", problem)
	}
}

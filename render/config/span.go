package config

import (
	"strings"
	"time"
)

// maxSpan bounds every duration: a certificate's dates have four digits for the year.
const maxSpan = Duration(100 * 365 * 24 * time.Hour)

// span checks a duration that must be positive and is counted in seconds.
func (v *checker) span(d Duration, at *where) {
	switch {
	case d <= 0:
		v.report(at, "%s is not more than 0; write hours, minutes and seconds, such as 8760h or 30m", spell(d))
	case d%Duration(time.Second) != 0:
		v.report(at, "%s has a fraction of a second; write whole seconds", spell(d))
	case d > maxSpan:
		v.report(at, "%s is longer than 100 years (%s); shorten it", spell(d), spell(maxSpan))
	}
}

// spell writes a duration without the zero minutes and seconds that Go adds: 8760h, 1h30m.
func spell(d Duration) string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

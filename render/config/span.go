package config

import (
	"time"

	"kiln/render/yamlpath"
)

// span checks a duration that must be more than 0 and of whole seconds.
func (v *checker) span(d Duration, at *yamlpath.Location) {
	switch {
	case d <= 0:
		v.report(at, "%s is not more than 0; "+
			"write hours, minutes and seconds, such as 8760h or 30m", d)
	case d%Duration(time.Second) != 0:
		v.report(at, "%s has a fraction of a second; write whole seconds", d)
	case d > maxDuration:
		v.report(at, "%s is longer than 100 years (%s); shorten it", d, maxDuration)
	}
}

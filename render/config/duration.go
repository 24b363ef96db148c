package config

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Duration is a span of time, written as Go writes it in hours, minutes and seconds: 8760h, 30m,
// 1h30m.
type Duration time.Duration

// maxDuration is the longest duration of a field: the dates of certificates have four digits for
// the year.
const maxDuration = Duration(100 * 365 * 24 * time.Hour)

// UnmarshalJSON reads a string such as "8760h". The error comes for anything else.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("a duration is a string such as \"8760h\"")
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a duration; %s", text, durationAdvice(text))
	}
	*d = Duration(v)
	return nil
}

// MarshalJSON writes the duration as UnmarshalJSON reads it.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// String returns the duration without the zero minutes and seconds that Go adds: 8760h, 1h30m.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// otherDuration matches a number with a word behind it.
var otherDuration = regexp.MustCompile(`^([0-9]{1,6}) ?([A-Za-z]*)$`)

// otherUnits maps units that people write, without the s of a plural, to those that Go reads.
var otherUnits = map[string]struct {
	factor int
	unit   string
}{
	"h": {1, "h"}, "hour": {1, "h"}, "hr": {1, "h"},
	"d": {24, "h"}, "day": {24, "h"},
	"w": {7 * 24, "h"}, "week": {7 * 24, "h"},
	"mo": {30 * 24, "h"}, "month": {30 * 24, "h"},
	"y": {365 * 24, "h"}, "year": {365 * 24, "h"},
	"m": {1, "m"}, "min": {1, "m"}, "minute": {1, "m"},
	"sec": {1, "s"}, "second": {1, "s"},
}

func durationAdvice(text string) string {
	if m := otherDuration.FindStringSubmatch(text); m != nil {
		if m[2] == "" {
			return fmt.Sprintf("write its unit: %sh, %[1]sm or %[1]ss", m[1])
		}
		if other := otherUnits[strings.TrimSuffix(strings.ToLower(m[2]), "s")]; other.unit != "" {
			count, _ := strconv.Atoi(m[1]) // at most six digits
			return fmt.Sprintf("write %d%s; the units are h, m and s",
				count*other.factor, other.unit)
		}
	}
	return "write hours, minutes and seconds, such as 8760h or 30m"
}

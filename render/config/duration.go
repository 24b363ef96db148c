package config

import (
	"encoding/json"
	"fmt"
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
		return fmt.Errorf(
			"%q is not a duration; write hours, minutes and seconds, such as 8760h or 30m", text)
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

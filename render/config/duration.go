package config

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a span of time, written as Go writes it in hours, minutes and seconds: 8760h, 30m, 1h30m.
type Duration time.Duration

// UnmarshalJSON reads a string such as "8760h".
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("a duration is a string such as \"8760h\"")
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a duration; write hours, minutes and seconds, such as 8760h or 30m", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalJSON writes the duration as UnmarshalJSON reads it.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(spell(d))
}

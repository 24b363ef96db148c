package term

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// duration is the value of a flag for a length of time.
type duration time.Duration

// DurationFlag adds a flag for a length of time, written with a unit.
func DurationFlag(
	cmd *cobra.Command, p *time.Duration, name string, value time.Duration, help string,
) {
	*p = value
	cmd.Flags().Var((*duration)(p), name, help)
}

// Set parses a time such as 20m, or a number of days such as 60d. Its error says how to write one;
// the error of the time package speaks of Go.
func (d *duration) Set(value string) error {
	if days, ok := strings.CutSuffix(value, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return errors.New("want a number of days from 0 to 65535, such as 60d")
		}
		*d = duration(time.Duration(n) * 24 * time.Hour) // #nosec G115 -- 16 bits
		return nil
	}
	parsed, err := time.ParseDuration(value)
	if err != nil {
		return errors.New("want a time with a unit (d, h, m or s), such as 60d, 36h or 20m")
	}
	*d = duration(parsed)
	return nil
}

// String returns the time as the help shows it.
func (d *duration) String() string { return time.Duration(*d).String() }

// Type returns the help's word for the value.
func (d *duration) Type() string { return "duration" }

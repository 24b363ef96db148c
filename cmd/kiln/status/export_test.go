package status

import (
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/apiserver"
)

// CommandWithin is the verb with another limit of time.
func CommandWithin(limit time.Duration) *cobra.Command {
	return command(limit, clock{time.Now, time.After})
}

// CommandAt is the verb by another clock.
func CommandAt(
	now func() time.Time, after func(time.Duration) <-chan time.Time,
) *cobra.Command {
	return command(apiserver.Limit, clock{now, after})
}

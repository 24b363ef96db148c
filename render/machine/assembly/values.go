package assembly

import (
	"strconv"
	"time"
)

// seconds returns a duration as whole seconds.
func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }

// epoch returns a time as seconds since 1970.
func epoch(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// element returns the path of the i-th element of a list in the configuration.
func element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

package assembly

import (
	"strconv"
	"strings"
	"time"
)

// seconds returns a duration as whole seconds.
func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }

// epoch returns a time as seconds since 1970.
func epoch(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// shellWord returns a value quoted for sh, which then expands nothing in it.
func shellWord(value string) string {
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

// element returns the path of the i-th element of a list in the configuration.
func element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

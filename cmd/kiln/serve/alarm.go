package serve

import (
	"fmt"
	"sync"
	"time"

	"kiln/render/terminal"
)

// alarm is a kind of event that an operator must see at once, on the terminal.
type alarm int

const (
	askedAgain   alarm = iota // for a document that somebody has
	askedOutside              // from an address that is not the machine's
	disclosed                 // a document was sent whole, and nobody confirmed it
	poolFull                  // more machines asked for a pool's document than were expected
	poolShared                // one address has a pool's document as several machines
	unreadable                // a document is not what was rendered, or cannot be read
	alarmKinds
)

// titles say in the summary what was counted.
var titles = [alarmKinds]string{
	askedAgain:   "asked for again after it was given",
	askedOutside: "asked for from an address that is not the machine's",
	disclosed:    "sent whole and not confirmed, so that somebody may have it",
	poolFull:     "asked for by more machines of a pool than --pool-limit",
	poolShared:   "given to one address as several machines of a pool",
	unreadable:   "asked for and not given, because the folder has changed or cannot be read",
}

// Bounds of what is said on the terminal. Each kind has its own limit: many lines of one kind hide
// no other.
const (
	quietTime   = time.Minute      // between two lines of one kind about one document
	alarmBurst  = 8                // lines of one kind at once
	refillEvery = 10 * time.Second // for one more
)

// alarms says what is alarming in plain lines, few enough to be read, and counts all of it.
type alarms struct {
	warn func(line string)

	mu    sync.Mutex
	kinds [alarmKinds]struct {
		said   map[string]time.Time // when the last line about a document was
		burst  int                  // lines said since refill
		refill time.Time
		hidden int // not said since the last line
		total  int
	}
}

// raise counts an alarm about a document, and says it unless much of its kind was said a short time
// ago.
func (a *alarms) raise(kind alarm, document, format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := &a.kinds[kind]
	k.total++
	now := time.Now()
	if last, ok := k.said[document]; ok && now.Sub(last) < quietTime {
		k.hidden++
		return
	}
	if back := int(now.Sub(k.refill) / refillEvery); back > 0 {
		k.burst, k.refill = max(0, k.burst-back), now
	}
	if k.burst >= alarmBurst {
		k.hidden++
		return
	}
	k.burst++
	if k.said == nil {
		k.said = map[string]time.Time{}
	}
	k.said[document] = now // bounded: one entry a document
	line := fmt.Sprintf(format, args...)
	if k.hidden > 0 {
		line += fmt.Sprintf(" (before it %d more of this kind, which the log has)", k.hidden)
		k.hidden = 0
	}
	if a.warn != nil {
		a.warn(terminal.Visible(line, ""))
	}
}

// summary is a line for each kind that there was.
func (a *alarms) summary() (lines []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for kind := range a.kinds {
		if n := a.kinds[kind].total; n > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d", titles[kind], n))
		}
	}
	return lines
}

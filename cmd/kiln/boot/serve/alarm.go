package serve

import (
	"fmt"
	"sync"
	"time"

	"kiln.dev/kiln/cmd/kiln/boot/announce"
	"kiln.dev/kiln/render/text/wording"
)

// alarm is a kind of event that the operator must see at once, on the terminal.
type alarm int

const (
	askedAgain   alarm = iota // a document was asked for again after somebody fetched it
	askedOutside              // a document was asked for from an address that is not the machine's
	disclosed                 // a part or all of a document was sent, and nobody confirmed it
	poolFull                  // more machines asked for a pool's document than its limit
	poolShared                // one address fetched a pool's document as several machines
	unreadable                // a document is not the one of the inventory, or cannot be read
	doubted                   // somebody without the machine's key announced in its name
	recordFull                // a document is not given, because no room is left to remember it
	unwritten                 // a document was given, and that is not on disk
	crowded                   // a connection was closed, because there were too many
	alarmKinds
)

// titles are the words for each kind in the summary.
var titles = [alarmKinds]string{
	askedAgain:   "asked for again after it was given",
	askedOutside: "asked for from an address that is not the machine's",
	disclosed:    "sent and not confirmed, so that somebody may have a part or all of it",
	poolFull:     "asked for by more machines of a pool than --pool-limit",
	poolShared:   "given to one address as several machines of a pool",
	doubted:      "announced, and not believed",
	recordFull:   "asked for and not given, because the list of fetched documents is full",
	unwritten:    "given, and not written down at once",
	crowded:      "connections closed at once, because there were too many",
	unreadable:   "asked for and not given, because the folder has changed or cannot be read",
}

// Bounds of the lines on the terminal. Each kind has bounds of its own, so that many lines of one
// kind hide no line of another.
const (
	quietTime   = time.Minute      // between two lines of one kind about one document
	alarmBurst  = 8                // lines of one kind in a row
	refillEvery = 10 * time.Second // until one more line may follow
)

// alarms prints alarms as plain lines, few enough to be read, and counts all of them.
type alarms struct {
	warn func(line string)

	mu    sync.Mutex
	kinds [alarmKinds]struct {
		shown  map[string]time.Time // the time of the last line about a document
		pace   announce.Pace        // of the lines
		hidden int                  // alarms without a line since the last line
		total  int
	}
}

// raise counts an alarm about a document. It prints the alarm unless it printed the same one, or
// many of its kind, a short time ago.
func (a *alarms) raise(kind alarm, document, format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := &a.kinds[kind]
	k.total++
	now := time.Now()
	if last, ok := k.shown[document]; ok && now.Sub(last) < quietTime {
		k.hidden++
		return
	}
	if !k.pace.Take(alarmBurst, refillEvery) {
		k.hidden++
		return
	}
	if k.shown == nil {
		k.shown = map[string]time.Time{}
	}
	k.shown[document] = now // one entry for each document at most
	line := fmt.Sprintf(format, args...)
	if k.hidden > 0 {
		line += fmt.Sprintf(" (and %d more of this kind before it)", k.hidden)
		k.hidden = 0
	}
	if a.warn != nil {
		a.warn(wording.Visible(line, ""))
	}
}

// summary returns a line with the number of alarms for each kind that was raised.
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

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"
)

// ledger knows which numbers may be in which ConfigMap.
type ledger struct {
	acked     map[int]int // the last number of each slot that an API server has acknowledged
	attempted map[int]int // the last one that was sent

	report
}

// report is what the client prints.
type report struct {
	Written int     `json:"written"` // acknowledged writes
	Read    int     `json:"read"`    // reads after a write, and at the end
	Failed  int     `json:"failed"`  // requests that went to another server, or were given up
	Away    int     `json:"away"`    // those of servers that were switched off, which Failed omits
	Lost    int     `json:"lost"`    // ConfigMaps that, at the end, lack an acknowledged number
	Wrong   int     `json:"wrong"`   // reads after a write that lack an acknowledged number
	Silence float64 `json:"silence"` // the most seconds between two rounds that went well
	At      int     `json:"at"`      // the number that ended it
}

func newLedger() *ledger {
	return &ledger{acked: map[int]int{}, attempted: map[int]int{}}
}

func (l *ledger) attempt(n int) { l.attempted[n%slots] = n }

func (l *ledger) acknowledge(n int) {
	l.acked[n%slots] = n
	l.Written++
}

// judge counts a read after a write. settle counts one at the end.
func (l *ledger) judge(slot, value int) {
	l.Read++
	if !l.fits(slot, value) {
		l.Wrong++
	}
}

func (l *ledger) settle(slot, value int) {
	l.Read++
	if !l.fits(slot, value) {
		l.Lost++
	}
}

// good reports whether something was written, and everything found again.
func (l *ledger) good() bool { return l.Written > 0 && l.Lost == 0 && l.Wrong == 0 }

// fits reports whether a ConfigMap may hold a number: the last one that was acknowledged, or a
// later one that was sent. A write without an answer may have been done.
func (l *ledger) fits(slot, value int) bool {
	ok := value >= l.acked[slot] && value <= l.attempted[slot] && value%slots == slot
	if !ok {
		fmt.Fprintf(os.Stderr, "client: number-%d holds %d, and %d was acknowledged\n",
			slot, value, l.acked[slot])
	}
	return ok
}

// failure counts a request that failed. away is true if the server's machine was switched off.
func (l *ledger) failure(away bool, err error) {
	if away {
		l.Away++
		return
	}
	l.Failed++
	fmt.Fprintln(os.Stderr, "client:", time.Now().UTC().Format(time.TimeOnly), err)
}

func (l *ledger) silence(span time.Duration, n int) {
	if seconds := math.Round(span.Seconds()*10) / 10; seconds > l.Silence {
		l.Silence, l.At = seconds, n
	}
}

func (l *ledger) print() {
	text, err := json.Marshal(l.report)
	if err == nil {
		fmt.Println(string(text))
	}
}

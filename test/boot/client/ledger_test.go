package main

import (
	"testing"
	"time"
)

// TestLedger: an acknowledged number may not be missing, and a number without an answer may be
// there.
func TestLedger(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		value int
		ok    bool
	}{
		"acknowledged":      {1001, true},
		"older":             {1, false},
		"without an answer": {2001, true},
		"never sent":        {3001, false},
		"of another slot":   {1002, false},
		"absent":            {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLedger()
			for _, n := range []int{1, 1001} {
				l.attempt(n)
				l.acknowledge(n)
			}
			l.attempt(2001)
			l.judge(1, row.value)
			l.settle(1, row.value)
			if want := 0; row.ok != (l.Wrong == want) || row.ok != (l.Lost == want) {
				t.Errorf("%d: %d wrong, %d lost", row.value, l.Wrong, l.Lost)
			}
		})
	}
}

// TestGood: a client that wrote nothing has proved nothing.
func TestGood(t *testing.T) {
	t.Parallel()
	l := newLedger()
	if l.good() {
		t.Error("nothing was written")
	}
	l.attempt(1)
	l.acknowledge(1)
	if !l.good() {
		t.Error("a number was written, and nothing is lost")
	}
	l.settle(1, 0)
	if l.good() {
		t.Error("the number is lost")
	}
}

// TestSilence: the longest time counts, with the number that ended it.
func TestSilence(t *testing.T) {
	t.Parallel()
	l := newLedger()
	l.silence(2*time.Second, 1)
	l.silence(5340*time.Millisecond, 2)
	l.silence(time.Second, 3)
	if l.Silence != 5.3 || l.At != 2 {
		t.Errorf("%v seconds at %d, want 5.3 at 2", l.Silence, l.At)
	}
}

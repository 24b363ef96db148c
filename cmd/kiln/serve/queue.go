package serve

import (
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"
)

// Bounds of a Queue.
const (
	queueLines = 1024 // lines that wait for their reader
	keptLines  = 4096 // with those that tell of a given document
)

// Queue passes lines on to a writer, in their order, and lets nobody wait for it: a pipe that nobody
// reads and a stopped terminal take nothing. Lines that find the queue full are dropped and counted.
// The writer is told how many they were as soon as it takes lines again.
type Queue struct {
	out    io.Writer
	lost   func(lines int) []byte // the line that tells of lost ones
	direct bool                   // out never waits for a reader

	mu      sync.Mutex
	changed *sync.Cond
	lines   []queued // the first one is being written
	dropped int      // lines dropped after the last one of lines
	failed  int      // lines that could not be written, and nobody was told yet
	total   int      // of lost lines
	ended   bool
	done    chan struct{} // closed when all is written after End
}

// queued is a line that waits.
type queued struct {
	text   []byte
	before int // lines dropped before it
}

// NewQueue returns the queue of a writer; lost makes the line that tells how many lines are missing.
// A regular file needs no queue, because it has no reader: lines are written to it at once, and none
// is dropped.
func NewQueue(out io.Writer, lost func(lines int) []byte) *Queue {
	q := &Queue{out: out, lost: lost, direct: regular(out), done: make(chan struct{})}
	q.changed = sync.NewCond(&q.mu)
	if q.direct {
		close(q.done)
		return q
	}
	go q.run()
	return q
}

// regular reports whether a writer is a regular file.
func regular(w io.Writer) bool {
	info, ok := fileInfo(w)
	return ok && info.Mode().IsRegular()
}

// fileInfo describes the file that a writer writes to, if it is known.
func fileInfo(w io.Writer) (fs.FileInfo, bool) {
	f, ok := w.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return nil, false
	}
	info, err := f.Stat()
	return info, err == nil
}

// Write queues a line, or drops it if too many wait. It never fails.
func (q *Queue) Write(line []byte) (int, error) {
	q.add(line, queueLines)
	return len(line), nil
}

// Keep queues a line that is not to be lost. It has room left when Write has none, so that whoever
// causes many lines drops none of these.
func (q *Queue) Keep(line []byte) { q.add(line, keptLines) }

func (q *Queue) add(line []byte, room int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.direct:
		next := queued{text: line, before: q.failed}
		q.wrote(next, 1, q.write(next))
	case q.ended:
		q.total++
	case len(q.lines) >= room:
		q.dropped++
		q.total++
	default:
		q.lines = append(q.lines, queued{text: slices.Clone(line), before: q.dropped})
		q.dropped = 0
		q.changed.Signal()
	}
}

// run writes what is queued until End.
func (q *Queue) run() {
	defer close(q.done)
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.lines) == 0 && q.dropped == 0 && !q.ended {
			q.changed.Wait()
		}
		var next queued
		lines := min(1, len(q.lines))
		switch {
		case lines > 0:
			next = q.lines[0]
		case q.dropped > 0:
			next.before, q.dropped = q.dropped, 0
		default:
			return
		}
		next.before += q.failed
		q.mu.Unlock()
		err := q.write(next)
		q.mu.Lock()
		if len(q.lines) < lines {
			return // End has counted the line as lost
		}
		q.lines = q.lines[lines:]
		q.wrote(next, lines, err)
	}
}

// write writes a line, and before it how many are missing there.
func (q *Queue) write(line queued) error {
	if line.before > 0 {
		line.text = slices.Concat(q.lost(line.before), line.text)
	}
	_, err := q.out.Write(line.text)
	return err
}

// wrote counts what failed. The next line tells of it.
func (q *Queue) wrote(line queued, lines int, err error) {
	if err == nil {
		q.failed = 0
		return
	}
	q.failed = line.before + lines
	q.total += lines
}

// End writes what is queued, waits for that no longer than limit, and drops the rest. What comes
// later is dropped, too, unless the writer is a regular file.
func (q *Queue) End(limit time.Duration) {
	q.mu.Lock()
	q.ended = true
	q.changed.Signal()
	q.mu.Unlock()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-q.done:
	case <-late.C:
		q.mu.Lock()
		defer q.mu.Unlock()
		q.total += len(q.lines)
		q.lines, q.dropped = nil, 0
	}
}

// Lost says how many lines were dropped or could not be written.
func (q *Queue) Lost() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.total
}

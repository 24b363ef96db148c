// This file passes lines to a writer that may have a slow reader, or none, and makes nobody
// wait for it.

package serve

import (
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"
)

// Bounds of a Queue: Write and Keep add a line while fewer lines and bytes wait than these.
const (
	queueLines, queueBytes = 1024, 2 << 20
	keptLines, keptBytes   = 4096, 8 << 20
)

// Queue passes lines on to a writer, in order, and makes nobody wait: a pipe that nobody reads or a
// stopped terminal takes no lines. The queue drops and counts lines while it is full. As soon as
// the writer takes lines again, the queue writes a line with the number of dropped ones.
type Queue struct {
	out    io.Writer
	lost   func(lines int) []byte // makes the line with the number of lost lines
	direct bool                   // out has no reader to wait for

	mu      sync.Mutex
	changed *sync.Cond
	lines   []queuedLine // the first one is being written
	bytes   int          // of lines
	dropped int          // the number of lines dropped after the last one of lines
	failed  int          // the number of lines that were not written, until a line says so
	total   int          // the number of all lost lines
	ended   bool
	torn    bool          // the last write ended within a line, as on a full disk
	done    chan struct{} // closed after End, when all lines are written
}

// queuedLine is a line that waits.
type queuedLine struct {
	line   []byte
	before int // the number of lines dropped before it
}

// NewQueue returns the queue of a writer. The function lost makes the line that says how many lines
// are missing. A regular file needs no queue, because it has no reader to wait for: lines are
// written to it at once, and none is dropped unless its writer drops it.
func NewQueue(out io.Writer, lost func(lines int) []byte) *Queue {
	q := &Queue{out: out, lost: lost, direct: isRegular(out), done: make(chan struct{})}
	q.changed = sync.NewCond(&q.mu)
	if q.direct {
		close(q.done)
		return q
	}
	go q.run()
	return q
}

// isRegular reports whether a writer is a regular file.
func isRegular(w io.Writer) bool {
	info, ok := StandIn(w)
	return ok && info.Mode().IsRegular()
}

// StandIn describes the file that a writer writes to, and reports whether it is known.
func StandIn(w io.Writer) (fs.FileInfo, bool) {
	f, ok := w.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return nil, false
	}
	info, err := f.Stat()
	return info, err == nil
}

// Write queues a line, or drops it if too many lines wait. It never fails.
func (q *Queue) Write(line []byte) (int, error) {
	q.add(line, queueLines, queueBytes)
	return len(line), nil
}

// Keep queues an important line. It still has room when Write has none, so that a client that
// causes many lines cannot make the queue drop this one.
func (q *Queue) Keep(line []byte) { q.add(line, keptLines, keptBytes) }

// Drop counts a line that its writer leaves out. The next line that is written says so.
func (q *Queue) Drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.total++
	if q.direct {
		q.failed++
	} else if !q.ended {
		q.dropped++
	}
}

func (q *Queue) add(line []byte, room, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.direct:
		next := queuedLine{line, q.failed}
		q.count(next, 1, q.write(next))
	case q.ended:
		q.total++
	case len(q.lines) >= room || q.bytes+len(line) > bytes:
		q.dropped++
		q.total++
	default:
		q.lines = append(q.lines, queuedLine{slices.Clone(line), q.dropped})
		q.bytes += len(line)
		q.dropped = 0
		q.changed.Signal()
	}
}

// run writes the queued lines until End.
func (q *Queue) run() {
	defer close(q.done)
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.lines) == 0 && q.dropped == 0 && !q.ended {
			q.changed.Wait()
		}
		var next queuedLine
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
		q.bytes -= len(next.line)
		q.count(next, lines, err)
	}
}

// write writes a line. If lines are missing before it, it writes their number first. It ends a line
// that was written in part, so that the next one is whole.
func (q *Queue) write(next queuedLine) error {
	content := next.line
	if next.before > 0 {
		content = slices.Concat(q.lost(next.before), content)
	}
	if q.torn {
		content = slices.Concat([]byte("\n"), content)
	}
	n, err := q.out.Write(content)
	if n > 0 {
		q.torn = content[n-1] != '\n'
	}
	return err
}

// count counts lines that could not be written, for the next line to say so.
func (q *Queue) count(next queuedLine, lines int, err error) {
	if err == nil {
		q.failed = 0
		return
	}
	q.failed = next.before + lines
	q.total += lines
}

// End writes the queued lines for the time of limit, and drops the rest. It drops later lines too,
// unless the writer is a regular file.
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

// Lost returns the number of lines that were dropped or could not be written.
func (q *Queue) Lost() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.total
}

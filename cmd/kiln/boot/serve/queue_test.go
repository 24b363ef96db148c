package serve

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// reader is a writer that takes a line each time a test reads one.
type reader struct {
	lines chan string
	err   error
}

func (r *reader) Write(p []byte) (int, error) {
	r.lines <- string(p)
	return len(p), r.err
}

func missing(n int) []byte { return fmt.Appendf(nil, "%d missing\n", n) }

// TestQueueFull: lines that nobody reads make no writer wait. They are counted in the place where
// they are missing, and important lines have room of their own.
func TestQueueFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &reader{lines: make(chan string)}
		q := NewQueue(r, missing)
		for i := range queueLines + 10 {
			n, err := fmt.Fprintf(q, "%d\n", i)
			require.NoError(t, err)
			require.Positive(t, n)
		}
		q.Keep([]byte("kept\n"))
		_, _ = q.Write([]byte("dropped\n"))
		require.Equal(t, 11, q.Lost())
		for i := range queueLines {
			require.Equal(t, fmt.Sprintf("%d\n", i), <-r.lines)
		}
		require.Equal(t, "10 missing\nkept\n", <-r.lines)
		require.Equal(t, "1 missing\n", <-r.lines)
		_, _ = q.Write([]byte("flows again\n"))
		require.Equal(t, "flows again\n", <-r.lines)
		synctest.Wait()
		q.End(time.Hour)
		require.Equal(t, 11, q.Lost())
	})
}

// TestQueueBytes: long lines that nobody reads are as few as their bytes allow.
func TestQueueBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &reader{lines: make(chan string)}
		q := NewQueue(r, missing)
		long := bytes.Repeat([]byte("x"), 1<<20)
		for range 5 {
			_, _ = q.Write(long)
		}
		for range 10 {
			q.Keep(long)
		}
		require.Equal(t, 3+4, q.Lost(), "2 and then 6 more have room")
		for range 8 {
			require.Contains(t, <-r.lines, "xx")
		}
		synctest.Wait()
		go func() { <-r.lines; <-r.lines }()
		_, _ = q.Write(long)
		q.End(time.Hour)
		require.Equal(t, 7, q.Lost(), "their room is free again")
	})
}

// TestQueueEnd: the end waits a short time for a slow reader, and counts the lines that it did not
// take.
func TestQueueEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &reader{lines: make(chan string)}
		q := NewQueue(r, missing)
		for range 5 {
			_, _ = q.Write([]byte("line\n"))
		}
		go func() {
			time.Sleep(time.Second)
			<-r.lines
		}()
		begin := time.Now()
		q.End(2 * time.Second)
		require.Equal(t, 2*time.Second, time.Since(begin))
		require.Equal(t, 4, q.Lost())
		_, _ = q.Write([]byte("late\n"))
		require.Equal(t, 5, q.Lost())
		<-r.lines // the queue has counted this line already
		synctest.Wait()
		require.Equal(t, 5, q.Lost())
	})
}

// TestQueueFails: lines that cannot be written are counted too, and the next line says so.
func TestQueueFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &reader{lines: make(chan string), err: errors.New("disk full")}
		q := NewQueue(r, missing)
		_, _ = q.Write([]byte("one\n"))
		require.Equal(t, "one\n", <-r.lines)
		synctest.Wait()
		r.err = nil
		_, _ = q.Write([]byte("two\n"))
		require.Equal(t, "1 missing\ntwo\n", <-r.lines)
		q.End(time.Second)
		require.Equal(t, 1, q.Lost())
	})
}

// full is a disk that takes some bytes of the first line.
type full struct{ bytes.Buffer }

func (f *full) Write(p []byte) (int, error) {
	if f.Len() > 0 {
		return f.Buffer.Write(p)
	}
	n, _ := f.Buffer.Write(p[:2])
	return n, errors.New("disk full")
}

// TestQueueTorn: a line that was written in part is ended, so that the next one is whole.
func TestQueueTorn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var disk full
		q := NewQueue(&disk, missing)
		for _, line := range []string{"one\n", "two\n", "three\n"} {
			_, _ = q.Write([]byte(line))
			synctest.Wait()
		}
		q.End(time.Second)
		require.Equal(t, "on\n1 missing\ntwo\nthree\n", disk.String())
	})
}

// TestQueueOfFile: a regular file has every line as soon as it is written, whatever their number.
func TestQueueOfFile(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	q := NewQueue(file, missing)
	want := strings.Repeat("line\n", 3*keptLines)
	for line := range strings.Lines(want) {
		_, _ = q.Write([]byte(line))
	}
	got, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	require.True(t, bytes.Equal([]byte(want), got))
	q.End(0)
	require.Zero(t, q.Lost())
}

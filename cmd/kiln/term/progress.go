package term

import (
	"io"
	"time"
)

// Progress returns two functions for a run over total machines: show draws a line with the number
// of machines that are done, and clearLine removes the line. The line appears on a terminal alone,
// and after a second at the earliest. On anything else, show is nil.
func Progress(w io.Writer, total int) (show func(done int), clearLine func()) {
	s, ok := w.(*Screen)
	if !ok || !s.terminal {
		return nil, func() {}
	}
	w = s.w // past the screen, which would show the control characters
	start, shown := time.Now(), time.Time{}
	show = func(done int) {
		now := time.Now()
		if now.Sub(start) > time.Second && now.Sub(shown) > 100*time.Millisecond {
			shown = now
			Printf(w, "\rkiln: %d of %d machines", done, total)
		}
	}
	clearLine = func() {
		if !shown.IsZero() {
			Printf(w, "\r\x1b[K")
		}
	}
	return show, clearLine
}

package screen

import (
	"io"
	"time"

	"kiln/cmd/kiln/message"
)

// Progress returns a function that shows how far the run is, on a terminal and only after a second, and one that clears the
// line.
func Progress(w io.Writer, total int) (progress func(int), finish func()) {
	s, ok := w.(*Screen)
	if !ok || !s.terminal {
		return nil, func() {}
	}
	w = s.w // the line is drawn over
	start, shown := time.Now(), time.Time{}
	return func(done int) {
			if now := time.Now(); now.Sub(start) > time.Second && now.Sub(shown) > 100*time.Millisecond {
				shown = now
				message.Printf(w, "\rkiln: %d of %d machines", done, total)
			}
		}, func() {
			if !shown.IsZero() {
				message.Printf(w, "\r\x1b[K")
			}
		}
}

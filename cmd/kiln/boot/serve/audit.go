package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"net/netip"
	"strings"
	"sync"
	"time"

	"kiln.dev/kiln/cmd/kiln/boot/announce"
	"kiln.dev/kiln/cmd/kiln/term"
)

// record is a line of the log. It holds no content of a document, and neither headers nor the query
// of a request.
type record struct {
	Time  string `json:"time"`
	Event string `json:"event"` // start, request, announce, connection, lost, stop

	Remote   string `json:"remote,omitempty"`
	Method   string `json:"method,omitempty"`
	Path     string `json:"path,omitempty"`
	Node     string `json:"node,omitempty"`
	Document string `json:"document,omitempty"`
	// Machine is the machine that announced, and Announced what. Refused counts the announcements
	// that were not taken.
	Machine   string           `json:"machine,omitempty"`
	Announced *announce.Status `json:"announced,omitempty"`
	Refused   int              `json:"refused,omitempty"`
	// Decision is served, taken, refused, cut off, failed, or disclosed (bytes of a document were
	// sent, and their receiver did not confirm them).
	Decision string `json:"decision,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Status   int    `json:"status,omitempty"`
	Bytes    int    `json:"bytes,omitempty"`

	Address  string   `json:"address,omitempty"`
	Until    string   `json:"until,omitempty"`
	Machines int      `json:"machines,omitempty"`
	Left     []string `json:"left,omitempty"`  // the machines that have not fetched a document
	Lines    int      `json:"lines,omitempty"` // the number of lines missing before it

	given bool // it is about a document that was sent, or what a machine announced
}

// line returns the record as a line of JSON, with the present time.
func (r *record) line() []byte {
	r.Time = time.Now().UTC().Format(time.RFC3339Nano)
	line, _ := term.Line(r) // it cannot fail: strings and numbers
	return line
}

// Bounds of the lines that everybody can cause who reaches the server, so that nobody fills the
// disk below the log. A line has 1 KB at most, unless a client writes unusual characters; with what
// a machine announced it has 17 KB.
const (
	strangerBurst = 1024        // lines in a row
	strangerEvery = time.Second // until one more line may follow
	receiverBurst = 16          // lines in a row that one address did not confirm a document
	receiverEvery = 10 * time.Second
	maxReceivers  = 4096
)

// audit is the log: one whole line of JSON for each event. No request waits for its reader.
type audit struct {
	queue *Queue

	mu        sync.Mutex
	strangers announce.Pace // of the lines that everybody can cause
	pools     announce.Pace // of the lines that everybody with a pool's document can cause
	receivers map[receiver]*announce.Pace
}

// receiver is an address that did not confirm a document.
type receiver struct {
	document string
	address  netip.Addr
}

func newAudit(out io.Writer) *audit {
	return &audit{receivers: map[receiver]*announce.Pace{},
		queue: NewQueue(out, func(n int) []byte {
			return (&record{Event: "lost", Lines: n}).line()
		})}
}

// write adds a record to the log. Records that strangers can cause are left out if there are too
// many of them, and are dropped before all others when the queue fills up.
func (a *audit) write(r *record) {
	switch {
	case r.Decision == "disclosed":
		a.disclosed(r)
	case r.given || r.Event == "start" || r.Event == "stop":
		a.queue.Keep(r.line())
	default:
		a.writePaced(r, &a.strangers)
	}
}

// disclosed adds a record of bytes that were sent and not confirmed. A client that may fetch a
// document can cause any number of them, so each document and address has a pace of its own.
func (a *audit) disclosed(r *record) {
	key := receiver{r.Document, Network(peer(r.Remote))}
	a.mu.Lock()
	p := a.receivers[key]
	if p == nil && len(a.receivers) >= maxReceivers {
		key = receiver{} // the others share one
		p = a.receivers[key]
	}
	if p == nil {
		p = &announce.Pace{}
		a.receivers[key] = p
	}
	within := p.Take(receiverBurst, receiverEvery)
	a.mu.Unlock()
	if within {
		a.queue.Keep(r.line())
	} else {
		a.queue.Drop()
	}
}

// announced adds a record of what a machine announced. Machines of pools have a pace of their own:
// whoever holds the pool's document can invent their names.
func (a *audit) announced(r *record, pool bool) {
	if r.given = !pool; r.given {
		a.write(r)
		return
	}
	a.writePaced(r, &a.pools)
}

func (a *audit) writePaced(r *record, p *announce.Pace) {
	a.mu.Lock()
	within := p.Take(strangerBurst, strangerEvery)
	a.mu.Unlock()
	if within {
		_, _ = a.queue.Write(r.line())
	} else {
		a.queue.Drop()
	}
}

// Write makes a record of each message that the HTTP server has about a connection.
func (a *audit) Write(line []byte) (int, error) {
	a.write(&record{Event: "connection", Reason: shorten(strings.TrimSpace(string(line)))})
	return len(line), nil
}

// maxSent bounds the bytes of a string from a client that go into the log.
const maxSent = 256

func shorten(s string) string {
	if len(s) > maxSent {
		return strings.ToValidUTF8(s[:maxSent], "") + "…"
	}
	return s
}

// isLine reports whether a line comes from a log of kiln serve.
func isLine(line []byte) bool {
	var r record
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	return decoder.Decode(&r) == nil && r.Time != "" && r.Event != ""
}

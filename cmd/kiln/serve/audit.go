package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"time"
)

// record is a line of the log. It holds no content of a document, and neither headers nor the query
// of a request.
type record struct {
	Time  string `json:"time"`
	Event string `json:"event"` // start, request, connection, lost, stop

	Remote   string `json:"remote,omitempty"`
	Method   string `json:"method,omitempty"`
	Path     string `json:"path,omitempty"`
	Node     string `json:"node,omitempty"`
	Document string `json:"document,omitempty"`
	// Decision is served, refused, cut off, failed, or disclosed (sent whole, and not confirmed).
	Decision string `json:"decision,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Status   int    `json:"status,omitempty"`
	Bytes    int    `json:"bytes,omitempty"`

	Address  string   `json:"address,omitempty"`
	Until    string   `json:"until,omitempty"`
	Machines int      `json:"machines,omitempty"`
	Left     []string `json:"left,omitempty"`  // the machines that have not fetched a document
	Lines    int      `json:"lines,omitempty"` // the number of lines missing before it
}

// line returns the record as a line of JSON, with the present time.
func (r *record) line() []byte {
	r.Time = time.Now().UTC().Format(time.RFC3339Nano)
	line, err := json.Marshal(r)
	if err != nil {
		return nil // it does not happen: a record consists of strings and numbers
	}
	return append(line, '\n')
}

// audit is the log: one whole line of JSON for each event. No request waits for its reader.
type audit struct {
	queue *Queue
}

func newAudit(out io.Writer) *audit {
	return &audit{queue: NewQueue(out, func(lines int) []byte {
		return (&record{Event: "lost", Lines: lines}).line()
	})}
}

// write adds a record to the log. When the queue fills up, records that strangers can cause are
// dropped before all others.
func (a *audit) write(r *record) {
	switch {
	case r.Event == "start", r.Event == "stop", r.Decision == "served", r.Decision == "disclosed":
		a.queue.Keep(r.line())
	default:
		_, _ = a.queue.Write(r.line())
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

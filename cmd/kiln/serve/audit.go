package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"time"
)

// record is a line of the log. It has no content of any document, and of a request neither header nor query.
type record struct {
	Time  string `json:"time"`
	Event string `json:"event"` // start, request, connection, lost, stop

	Remote   string `json:"remote,omitempty"`
	Method   string `json:"method,omitempty"`
	Path     string `json:"path,omitempty"`
	Node     string `json:"node,omitempty"`
	Document string `json:"document,omitempty"`
	// Decision is served, refused, cut off, failed, or disclosed: sent whole, and not confirmed.
	Decision string `json:"decision,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Status   int    `json:"status,omitempty"`
	Bytes    int    `json:"bytes,omitempty"`

	Address  string   `json:"address,omitempty"`
	Until    string   `json:"until,omitempty"`
	Machines int      `json:"machines,omitempty"`
	Left     []string `json:"left,omitempty"`  // machines that have not fetched a document
	Lines    int      `json:"lines,omitempty"` // that are missing before this one
}

// line returns the record as a line that says when it was made.
func (r *record) line() []byte {
	r.Time = time.Now().UTC().Format(time.RFC3339Nano)
	line, err := json.Marshal(r)
	if err != nil {
		return nil // it consists of texts and numbers
	}
	return append(line, '\n')
}

// audit is the log: a line of JSON for each event, whole. Nobody waits for its reader.
type audit struct {
	queue *Queue
}

func newAudit(out io.Writer) *audit {
	return &audit{queue: NewQueue(out, func(lines int) []byte {
		return (&record{Event: "lost", Lines: lines}).line()
	})}
}

// write adds a record to the log. Those that strangers cause give way to the others.
func (a *audit) write(r *record) {
	switch {
	case r.Event == "start", r.Event == "stop", r.Decision == "served", r.Decision == "disclosed":
		a.queue.Keep(r.line())
	default:
		_, _ = a.queue.Write(r.line())
	}
}

// Write makes lines of what the HTTP server has to say of connections.
func (a *audit) Write(text []byte) (int, error) {
	a.write(&record{Event: "connection", Reason: shortened(strings.TrimSpace(string(text)))})
	return len(text), nil
}

// maxText bounds what the log has of what a stranger sends.
const maxText = 256

func shortened(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

// isLine reports whether a line is one of the log.
func isLine(line []byte) bool {
	var r record
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	return decoder.Decode(&r) == nil && r.Time != "" && r.Event != ""
}

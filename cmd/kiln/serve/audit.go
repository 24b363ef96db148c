package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"time"
)

// record is a line of the log. It has no content of any document, and of a request neither header nor query.
type record struct {
	Time  string `json:"time"`
	Event string `json:"event"` // start, request, connection, stop

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
	Left     []string `json:"left,omitempty"` // machines that have not fetched a document
}

// audit is the log: a line of JSON for each event, whole.
type audit struct {
	mu  sync.Mutex
	out io.Writer
}

func (a *audit) write(r *record) {
	r.Time = time.Now().UTC().Format(time.RFC3339Nano)
	line, err := json.Marshal(r)
	if err != nil {
		return // it consists of texts and numbers
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	// A line that cannot be written has nowhere else to go, and machines wait for their documents.
	_, _ = a.out.Write(append(line, '\n'))
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

// IsLine reports whether a line is one of the log.
func IsLine(line []byte) bool {
	var r record
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	return decoder.Decode(&r) == nil && r.Time != "" && r.Event != ""
}

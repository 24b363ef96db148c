package roll

import (
	"io"
	"sync"
	"time"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/text/wording"
)

// log tells what happens: lines for people, or one object of JSON in each line.
type log struct {
	mutex sync.Mutex
	out   io.Writer
	json  bool
}

// event is a line for programs.
type event struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"` // step, run, output, wait, left, done or failed
	Step    string    `json:"step,omitempty"`
	Machine string    `json:"machine,omitempty"`
	Text    string    `json:"text"`
}

// marks begin the texts of events for people.
var marks = map[string]string{"step": "== ", "output": "| ", "wait": "waits: ",
	"left": "left to you: "}

// maxLine is how many characters are told of a line.
const maxLine = 2000

// say tells of an event.
func (l *log) say(what, step, machine, text string) {
	text = wording.VisibleLine(text, maxLine)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := time.Now()
	if l.json {
		line, _ := term.Line(event{now.UTC().Truncate(time.Second), what, step, machine, text})
		_, _ = l.out.Write(line)
		return
	}
	if machine != "" && what != "step" {
		machine = "   " + machine + " "
	} else {
		machine = ""
	}
	term.Printf(l.out, "%s %s%s%s\n", now.Format(time.TimeOnly), machine, marks[what], text)
}

// raw prints a line of a dry run.
func (l *log) raw(line string) { term.Printf(l.out, "%s\n", line) }

// lines is a writer for one program, which tells of each line and keeps the last ones.
type lines struct {
	log     *log
	machine string
	silent  bool // the lines are kept, and not told
	part    []byte
	last    []string
}

const (
	keptLines = 20
	maxPart   = 16 << 10
)

func (w *lines) Write(text []byte) (int, error) {
	for _, b := range text {
		if b == '\n' || len(w.part) == maxPart {
			w.flush()
		}
		if b != '\n' {
			w.part = append(w.part, b)
		}
	}
	return len(text), nil
}

// flush tells of the line that was begun.
func (w *lines) flush() {
	text := wording.VisibleLine(string(w.part), maxLine)
	if w.part = w.part[:0]; text == "" {
		return
	}
	w.last = append(w.last, text)
	w.last = w.last[max(0, len(w.last)-keptLines):]
	if !w.silent {
		w.log.say("output", "", w.machine, text)
	}
}

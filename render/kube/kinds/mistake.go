package kinds

import (
	"fmt"

	"kiln.dev/kiln/render/text/yamltext"
)

// mistake is a finding whose path is not yet written.
type mistake struct {
	at      *yamltext.Location
	inner   string // the path in the text at that place
	message string
}

type mistakes struct{ found []mistake }

func (m *mistakes) add(at *yamltext.Location, format string, args ...any) {
	m.found = append(m.found, mistake{at: at, message: fmt.Sprintf(format, args...)})
}

// maxFound is how many mistakes of one document are looked for. The next run finds more.
const maxFound = 100

func (m *mistakes) full() bool { return len(m.found) >= maxFound }

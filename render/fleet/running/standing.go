package running

import "kiln.dev/kiln/render/twin/change"

// Where a machine stands between two states.
const (
	Wanted  = "wanted"  // it runs the newer document, and its hook is done
	Coming  = "coming"  // it runs the newer document, and is not ready yet
	Older   = "older"   // it runs the older document, or one of an earlier state
	Unsaid  = "unsaid"  // its Node does not say what it runs: taken for the older document
	Neither = "neither" // it runs a document of no state
	Absent  = "absent"  // it has no Node
	Unseen  = "unseen"  // it never has a Node: taken for the older document
	Foreign = "foreign" // a Node that is no machine of any state
)

// standings has all of them in the order in which they are listed.
var standings = []string{Wanted, Coming, Older, Unsaid, Neither, Absent, Unseen, Foreign}

// Standing is where some machines stand.
type Standing struct {
	Standing string   `json:"standing"`
	Machines []string `json:"machines,omitempty"`
	Nodes    []string `json:"nodes,omitempty"` // of pools, or Foreign
	Why      string   `json:"why,omitempty"`
}

// Seen is where a machine or a pool stands. Of a pool it has the Nodes that have to be replaced.
type Seen struct {
	Standing string
	Why      string
	Down     bool // its Node is not Ready
	Before   bool // the older state has it
	Nodes    []string
	Coming   []string // Nodes of a pool that run the newer document, and are not ready yet
}

// secretsAlone is why a Node cannot say which of two documents its machine runs.
const secretsAlone = "the two documents differ in the content of secrets alone, " +
	"of which its Node says nothing"

// isAmbiguous reports whether what a Node says is true of both documents of a pair, and these
// differ all the same: in the contents of secrets.
func (o *Observation) isAmbiguous(p *change.Pair, n *Node) bool {
	return p != nil && p.Old != nil && p.New != nil && len(p.Changes) > 0 &&
		n.Twin == o.digest(p.New) && n.Twin == o.digest(p.Old)
}

package running

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// State says how far a workload is that is not settled.
type State string

// The states.
const (
	InProgress State = "in progress" // it may take so long
	Waiting    State = "waiting"     // for Nodes that are not Ready
	NotReady   State = "not ready"   // it has failed, or takes too long
)

// Verdict says why a workload is not settled.
type Verdict struct {
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	State     State    `json:"state"`
	Wanted    int      `json:"wanted"` // pods
	Ready     int      `json:"ready"`
	Reasons   []Reason `json:"reasons"` // those of most pods first
}

// Reason is why some pods are not ready, or the workload itself if there are none.
type Reason struct {
	Text string `json:"text"`
	Pods int    `json:"pods"`
	// Pod is one of them, and Node is where it runs.
	Pod  string `json:"pod,omitempty"`
	Node string `json:"node,omitempty"`
}

// maxReasons is how many reasons of a workload are shown.
const maxReasons = 3

// Cluster is what is known of the cluster of a workload.
type Cluster struct {
	// Pods has at least its pods. Unseen reports that some of them could not be read.
	Pods     []Pod
	Unseen   bool
	NotReady map[string]bool // the Nodes that are not Ready
	Now      time.Time
}

// Judge returns the verdict on a workload that is not settled.
func Judge(w *Workload, c Cluster) Verdict {
	v := Verdict{
		Kind: w.Kind, Namespace: line(w.Namespace), Name: line(w.Name), State: InProgress,
		Wanted: w.Wanted, Ready: w.Ready, Reasons: []Reason{},
	}
	reasons, states, there := map[string]*Reason{}, map[State]int{}, 0
	since := w.changed // when the longest wait began
	for i := range c.Pods {
		p := &c.Pods[i]
		if !w.owns(p) {
			continue
		}
		there++
		if p.ready {
			continue
		}
		if len(states) == 0 || p.since.Before(since) {
			since = p.since
		}
		state, why := p.state, p.why
		if state != NotReady && c.NotReady[p.Node] {
			state, why = Waiting, fmt.Sprintf("Node %s is not Ready", p.Node)
		}
		states[state]++
		if reasons[why] == nil {
			reasons[why] = &Reason{Text: why, Pod: p.Name, Node: p.Node}
		}
		reasons[why].Pods++
	}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		v.Reasons = append(v.Reasons, *reasons[why])
	}
	slices.SortStableFunc(v.Reasons, func(a, b Reason) int { return cmp.Compare(b.Pods, a.Pods) })
	if more := len(v.Reasons) - maxReasons; more > 0 {
		v.Reasons = v.Reasons[:maxReasons]
		v.Reasons = append(v.Reasons, Reason{Text: fmt.Sprintf("and %d more", more)})
	}
	missing := there < w.Wanted && !c.Unseen
	switch {
	case w.fault != "":
		v.Reasons = append(v.Reasons, Reason{Text: w.fault})
	case missing:
		v.Reasons = append(v.Reasons, Reason{
			Text: fmt.Sprintf("%d of %d pods are there", there, w.Wanted),
		})
	case len(v.Reasons) == 0 && c.Unseen:
		v.Reasons = append(v.Reasons, Reason{Text: "its pods could not be seen"})
	case len(v.Reasons) == 0:
		v.Reasons = append(v.Reasons, Reason{Text: "its controller is not done"})
	}
	isLate := len(states) > 0 || missing || c.Unseen
	switch {
	case states[NotReady] > 0 || w.fault != "":
		v.State = NotReady
	case states[Waiting] > 0 && states[InProgress] == 0:
		v.State = Waiting
	case isLate && !w.advances && c.Now.Sub(since) >= w.deadline:
		v.State = NotReady
	}
	return v
}

// owns reports whether a pod that the selector matches is a pod of the workload. Between it and a
// Deployment is a ReplicaSet, which has the name of both and the hash of the template.
func (w *Workload) owns(p *Pod) bool {
	if w.Kind == "Deployment" {
		return p.owner.Kind == "ReplicaSet" && p.owner.Name == w.Name+"-"+p.hash
	}
	return p.owner.UID == w.uid && w.uid != ""
}

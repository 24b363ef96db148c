package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"kiln.dev/kiln/cmd/kiln/apiserver"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// Workloads counts the DaemonSets, Deployments and StatefulSets that kiln applied.
type Workloads struct {
	Total int `json:"total"`
	Ready int `json:"ready"`
	// Left are those that are not ready, as far as they were looked at.
	Left []running.Verdict `json:"left"`
}

// What is asked for at most: the pods of so many workloads, so many pods in sum, and all of it in
// this time.
const (
	maxWorkloads = 50
	maxPods      = 5000
	maxTime      = time.Minute
)

// workloads asks for the workloads, and for the pods of those that are not ready. What the API
// server does not show is unseen, and no error: the rest of the report counts.
func (r *Report) workloads(
	ctx context.Context, c *apiserver.Client, nodes []running.Node, state *change.Cluster,
) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	cluster := running.Cluster{NotReady: map[string]bool{}, Now: time.Now()}
	for i := range nodes {
		cluster.NotReady[nodes[i].Name] = !nodes[i].Ready
	}
	r.Workloads = &Workloads{Left: []running.Verdict{}}
	var left []*running.Workload
	wanted := workloadsOf(state)
	for _, kind := range running.Kinds {
		there := map[running.Name]bool{}
		err := c.Workloads(ctx, kind, wanted, func(w *running.Workload) {
			name := running.Name{Resource: kind.Resource, Namespace: w.Namespace, Name: w.Name}
			there[name] = true
			r.Workloads.Total++
			switch {
			case w.Settled:
				r.Workloads.Ready++
			case len(left) < maxWorkloads:
				left = append(left, w)
			}
		})
		r.unseen(kind.Name+"s", kind.Resource+".apps in all namespaces", err)
		if err == nil {
			r.missing(kind, wanted, there)
		}
	}
	if state == nil && r.Workloads.Total == 0 && len(r.Unseen) == 0 {
		r.Unseen = append(r.Unseen, "workloads: none was applied by kiln; name a STATE, which "+
			"says which ones should be there")
	}
	pods := maxPods
	for _, w := range left {
		if ctx.Err() != nil {
			break
		}
		seen, all, err := c.Pods(ctx, w, pods)
		r.unseen(fmt.Sprintf("pods of %s %s/%s", w.Kind, w.Namespace, w.Name),
			"pods in "+w.Namespace, err)
		if err == nil && !all {
			r.Unseen = append(r.Unseen, fmt.Sprintf("pods of %s %s/%s: kiln reads %d pods",
				w.Kind, w.Namespace, w.Name, maxPods))
		}
		pods -= len(seen)
		cluster.Pods, cluster.Unseen = seen, !all
		r.Workloads.Left = append(r.Workloads.Left, running.Judge(w, cluster))
	}
	if more := r.Workloads.Total - r.Workloads.Ready - len(r.Workloads.Left); more > 0 {
		r.Unseen = append(r.Unseen, fmt.Sprintf("%s more that are not ready",
			wording.Count(more, "workload")))
	}
	for i := range r.Unseen {
		r.Unseen[i] = cell(r.Unseen[i])
	}
}

// workloadsOf returns the workloads that a state wants.
func workloadsOf(state *change.Cluster) map[running.Name]bool {
	out := map[running.Name]bool{}
	if state == nil {
		return out
	}
	for _, o := range state.Objects() {
		namespace, resource, name, _ := o.Words()
		for _, kind := range running.Kinds {
			if resource == kind.Resource+".apps" {
				out[running.Name{Resource: kind.Resource, Namespace: namespace, Name: name}] = true
			}
		}
	}
	return out
}

// missing adds the workloads of a kind that are wanted and not there.
func (r *Report) missing(kind running.Kind, wanted, there map[running.Name]bool) {
	for _, name := range slices.SortedFunc(maps.Keys(wanted), func(a, b running.Name) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	}) {
		if name.Resource == kind.Resource && !there[name] {
			r.Workloads.Total++
			r.Workloads.Left = append(r.Workloads.Left, running.Verdict{
				Kind: kind.Name, Namespace: name.Namespace, Name: name.Name,
				State:   running.NotReady,
				Reasons: []running.Reason{{Text: "not there"}},
			})
		}
	}
}

// unseen notes what the API server does not show: for a refusal, the right that is missing.
func (r *Report) unseen(what, right string, err error) {
	if err == nil {
		return
	}
	why := err.Error()
	var status *apiserver.StatusError
	if errors.As(err, &status) && status.Code == http.StatusForbidden {
		why = "the user of the kubeconfig may not list " + right
	}
	r.Unseen = append(r.Unseen, what+": "+why)
}

// table writes the workloads that are not ready.
func (l *Workloads) table(b *strings.Builder) {
	if len(l.Left) == 0 {
		return
	}
	b.WriteString("\n")
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "WORKLOAD\tREADY\tSTATE\tWHY")
	for i := range l.Left {
		v := &l.Left[i]
		first := fmt.Sprintf("%s %s/%s\t%d of %d\t%s", v.Kind, v.Namespace, v.Name, v.Ready,
			v.Wanted, v.State)
		for j := range v.Reasons {
			_, _ = fmt.Fprintf(w, "%s\t%s\n", first, explainReason(&v.Reasons[j]))
			first = "\t\t"
		}
	}
	_ = w.Flush()
}

// explainReason returns a reason with the pods that have it.
func explainReason(r *running.Reason) string {
	switch {
	case r.Pods == 0:
		return r.Text
	case r.Node == "":
		return fmt.Sprintf("%s (%s, %s)", r.Text, wording.Count(r.Pods, "pod"), r.Pod)
	}
	return fmt.Sprintf("%s (%s, %s on %s)", r.Text, wording.Count(r.Pods, "pod"), r.Pod, r.Node)
}

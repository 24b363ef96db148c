package status

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"kiln.dev/kiln/cmd/kiln/apiserver"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
)

// Report is what a running cluster says of itself.
type Report struct {
	URL     string `json:"url"`
	Version string `json:"version,omitempty"` // of the API server that answered
	// Done reports that nothing is left to wait for.
	Done bool `json:"done"`
	// Stopped reports that the hook of a machine has stopped: waiting does not help.
	Stopped  bool     `json:"stopped"`
	Problems []string `json:"problems"`
	Etcd     *Etcd    `json:"etcd,omitempty"`
	// applied, not applied, refused, or of another state
	Objects   string     `json:"objects"`
	Workloads *Workloads `json:"workloads"`
	// Unseen is what the API server did not show, and why.
	Unseen []string `json:"unseen,omitempty"`
	// Note is what nobody can know without a state.
	Note string `json:"note,omitempty"`
	// Older are the machines that were made from another document than the one that they run.
	Older    []string  `json:"older,omitempty"`
	Machines []Machine `json:"machines"`
	Ends     []End     `json:"ends,omitempty"`

	blind bool // nothing is left as far as the API server shows it
}

// Etcd counts the members of etcd that run beside API servers.
type Etcd struct {
	Members int `json:"members"`
	Voting  int `json:"voting"`
}

// Machine is one machine, or a Node of none.
type Machine struct {
	Name     string   `json:"name"`
	Role     string   `json:"role"`
	Ready    bool     `json:"ready"`
	Cordoned bool     `json:"cordoned,omitempty"` // it takes no new pods
	Kubelet  string   `json:"kubelet,omitempty"`
	Hook     string   `json:"hook,omitempty"`
	Document string   `json:"document,omitempty"` // where it stands beside the state
	Pods     []string `json:"pods,omitempty"`     // static pods that are not ready, and why
}

// End is something that ends.
type End struct {
	What string    `json:"what"`
	When time.Time `json:"when"`
}

// gather asks the API server. The state is what the machines should run; nil if nobody said. It
// fails if the API server does not answer, or refuses the question for its Nodes.
func gather(ctx context.Context, c *apiserver.Client, state *change.Cluster) (*Report, error) {
	r := &Report{Problems: []string{}}
	if state == nil {
		r.Note = "without a STATE kiln cannot know which machines and workloads are missing, and " +
			"which Nodes are no machines"
	}
	nodes, err := c.Nodes(ctx)
	if err := r.partial("Nodes", err); err != nil {
		return nil, err
	}
	if err := r.health(ctx, c); err != nil {
		return nil, err
	}
	pods, podsErr := c.StaticPods(ctx)
	if err := r.partial("static pods", podsErr); err != nil {
		return nil, err
	}
	if err := r.machines(nodes, pods, state); err != nil {
		return nil, err
	}
	r.pods(pods, podsErr == nil, state)
	if err := r.objects(ctx, c, state); err != nil {
		return nil, err
	}
	r.workloads(ctx, c, nodes, state)
	r.judge()
	return r, nil
}

// partial notes what was left out of a list, and returns any other error.
func (r *Report) partial(what string, err error) error {
	if !running.IsBound(err) {
		return err
	}
	r.unseen(what, "", err)
	return nil
}

// health asks whether the API server and its etcd are well.
func (r *Report) health(ctx context.Context, c *apiserver.Client) error {
	body, err := c.Get(ctx, "/readyz?verbose")
	var status *apiserver.StatusError
	if errors.As(err, &status) {
		body = status.Body
	}
	var failed []string
	for line := range strings.Lines(string(body)) {
		if name, ok := strings.CutPrefix(line, "[-]"); ok {
			failed = append(failed, name)
		}
	}
	r.problems("API server: ", failed)
	if len(failed) == 0 {
		if err := r.answered("health of the API server", err); err != nil {
			return err
		}
	}
	if body, err = c.Get(ctx, "/version"); err != nil {
		return r.answered("version", err)
	}
	var v struct{ GitVersion string }
	if json.Unmarshal(body, &v) == nil {
		r.Version = v.GitVersion
	}
	return nil
}

// answered notes an answer that is no success: a fault of the server is a problem, and of a refusal
// nothing is known. It returns the error of a connection.
func (r *Report) answered(what string, err error) error {
	var status *apiserver.StatusError
	switch {
	case !errors.As(err, &status):
		return err
	case status.Code >= http.StatusInternalServerError:
		r.problems("API server: ", []string{what + ": " + status.Error()})
	default:
		r.unseen(what, "", fmt.Errorf("HTTP %d", status.Code))
	}
	return nil
}

// machines adds the machines: those of the state, and Nodes that are none of them.
// The role of a Node that is no machine of the state is what its label says, or its static pods.
func (r *Report) machines(
	nodes []running.Node, pods []apiserver.Pod, state *change.Cluster,
) error {
	stands, roles, pools := map[string]string{}, map[string]string{}, map[string]bool{}
	if state != nil {
		seen, err := running.Observe(change.Compare(state, state), &running.Running{
			Nodes: nodes, Digest: review.DigestOf,
		})
		if err != nil {
			return err
		}
		for _, s := range seen.List {
			for _, name := range slices.Concat(s.Machines, s.Nodes) {
				stands[name] = s.Standing
			}
		}
		for _, m := range state.Machines {
			roles[m.Name], pools[m.Name] = m.Role, m.Pool
		}
	}
	for _, p := range pods {
		if p.Component == etcd || p.Component == server {
			roles[p.Node] = cmp.Or(roles[p.Node], node.ControlPlane)
		}
	}
	there, unlabelled := map[string]bool{}, []string(nil)
	for i := range nodes {
		n := &nodes[i]
		there[n.Name] = true
		if n.Older {
			r.Older = append(r.Older, n.Name)
		}
		_, labelled := n.Labels[controlPlaneLabel]
		role := cmp.Or(roles[n.Name], node.Worker)
		if labelled && roles[n.Name] == "" {
			role = node.ControlPlane
		}
		if !labelled && role == node.ControlPlane {
			unlabelled = append(unlabelled, n.Name)
		}
		r.Machines = append(r.Machines, Machine{
			Name: n.Name, Role: role, Ready: n.Ready, Cordoned: n.Cordoned, Kubelet: n.Kubelet,
			Hook: n.Hook, Document: stands[n.Name],
		})
	}
	r.problems("no label "+controlPlaneLabel+" on a control plane, or on a Node with its pods: ",
		unlabelled)
	if state != nil {
		for _, m := range state.Machines {
			if !there[m.Name] && !pools[m.Name] {
				r.Machines = append(r.Machines, Machine{
					Name: m.Name, Role: m.Role, Document: stands[m.Name],
				})
			}
		}
	}
	order := []string{node.Etcd, node.ControlPlane, node.Worker}
	slices.SortStableFunc(r.Machines, func(a, b Machine) int {
		return slices.Index(order, a.Role) - slices.Index(order, b.Role)
	})
	return nil
}

// Components of control planes, and the label of their Nodes.
const (
	etcd              = "etcd"
	server            = "kube-apiserver"
	controlPlaneLabel = "node-role.kubernetes.io/control-plane"
)

// pods adds the static pods to their machines, names those that are not there if the list has all,
// and counts the members of etcd: one for each control plane, if any has one or the state wants it.
// A member is ready when it has its vote and can read through the others. A machine votes for
// itself alone, and not for one that is missing.
func (r *Report) pods(list []apiserver.Pod, all bool, state *change.Cluster) {
	voting := map[string]bool{}           // by the machine: its member of etcd is ready
	there := map[string]map[string]bool{} // by the machine and the component
	for _, p := range list {
		j := slices.IndexFunc(r.Machines, func(m Machine) bool { return m.Name == p.Node })
		if j < 0 || r.Machines[j].Role != node.ControlPlane {
			continue
		}
		if there[p.Node] == nil {
			there[p.Node] = map[string]bool{}
		}
		there[p.Node][p.Component] = true
		if p.Component == etcd {
			was, known := voting[p.Node]
			voting[p.Node] = p.Ready && (was || !known)
		}
		if !p.Ready {
			r.Machines[j].Pods = append(r.Machines[j].Pods, p.Component+": "+p.Why)
		}
	}
	wanted := []string{server, "kube-controller-manager", "kube-scheduler"}
	// Without such members etcd runs on machines of its own, or elsewhere.
	if len(voting) > 0 || state != nil && slices.ContainsFunc(state.Members(),
		func(m *change.Machine) bool { return m.Role == node.ControlPlane }) {
		wanted = append(wanted, etcd)
		r.Etcd = &Etcd{}
	}
	var missing []string
	for i := range r.Machines {
		m := &r.Machines[i]
		if m.Role != node.ControlPlane {
			continue
		}
		for _, component := range wanted {
			if all && m.Kubelet != "" && !there[m.Name][component] {
				missing = append(missing, m.Name+": "+component)
			}
		}
		if r.Etcd == nil {
			continue
		}
		r.Etcd.Members++
		if voting[m.Name] {
			r.Etcd.Voting++
		}
	}
	r.problems("no static pod on ", missing)
}

// objects asks for the marker, which says whether the API objects were applied, and which.
func (r *Report) objects(ctx context.Context, c *apiserver.Client, state *change.Cluster) error {
	marker, err := c.Marker(ctx)
	var status *apiserver.StatusError
	if errors.As(err, &status) && status.Code == http.StatusNotFound {
		r.Objects = "not applied"
		return nil
	}
	if err != nil {
		return err
	}
	r.Objects = "applied"
	if state != nil {
		if wanted := running.Objects(state); wanted != "" && wanted != marker.Objects {
			r.Objects = "of another state"
		}
	}
	if marker.Failed != "" {
		r.Objects = "refused"
	}
	r.problems("object ", slices.Collect(strings.Lines(marker.Failed)))
	return nil
}

// maxProblems is how many problems of one kind are shown.
const maxProblems = 20

// problems adds the first lines as problems, and how many more there are.
func (r *Report) problems(what string, lines []string) {
	for i, line := range lines {
		if i == maxProblems {
			r.Problems = append(r.Problems, fmt.Sprintf("%sand %d more", what, len(lines)-i))
			break
		}
		r.Problems = append(r.Problems, what+strings.TrimSpace(line))
	}
}

// judge says what is not as it should be, and whether waiting can help.
func (r *Report) judge() {
	left := r.Objects != "applied"
	for i := range r.Machines {
		m := &r.Machines[i]
		if m.Role == node.Etcd {
			continue // the API server does not know it
		}
		stopped := strings.HasPrefix(m.Hook, "stopped ")
		r.Stopped = r.Stopped || stopped
		late := !m.Ready || m.Hook != "done done" || len(m.Pods) > 0 ||
			m.Document != "" && m.Document != running.Wanted
		left = left || late
	}
	if r.Etcd != nil && r.Etcd.Voting < r.Etcd.Members {
		left = true
	}
	left = left || len(r.Problems) > 0 || r.Workloads.Ready < r.Workloads.Total
	r.Done = !left && len(r.Unseen) == 0
	r.blind = !left && len(r.Unseen) > 0
}

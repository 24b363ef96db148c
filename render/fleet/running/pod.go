package running

import (
	"fmt"
	"strings"
	"time"

	"kiln.dev/kiln/render/text/wording"
)

// Pod is one pod of a workload that is not ready, or not any more.
type Pod struct {
	Name, Node string

	owner owner
	hash  string // of its template, if its owner is a ReplicaSet
	since time.Time
	ready bool
	state State
	why   string
}

type owner struct {
	Kind, Name, UID string
	Controller      bool
}

// container is the state of a container.
type container struct {
	Name             string
	Ready            bool
	Started          *bool
	State, LastState struct {
		Waiting    *struct{ Reason, Message string }
		Running    *struct{}
		Terminated *terminated
	}
}

type terminated struct {
	ExitCode        int
	Reason, Message string
}

// podObject is what is read of a pod.
type podObject struct {
	Metadata struct {
		Name   string
		Labels struct {
			Hash string `json:"pod-template-hash"`
		}
		CreationTimestamp time.Time
		DeletionTimestamp *time.Time
		OwnerReferences   []owner
	}
	Spec   struct{ NodeName string }
	Status struct {
		Phase, Reason, Message                   string
		Conditions                               []condition
		InitContainerStatuses, ContainerStatuses []container
	}
}

// ParsePod reads a pod.
func ParsePod(text []byte) (Pod, error) {
	var o podObject
	if err := decode(text, &o); err != nil {
		return Pod{}, err
	}
	about, status := &o.Metadata, &o.Status
	p := Pod{
		Name: line(about.Name), Node: line(o.Spec.NodeName), hash: line(about.Labels.Hash),
		since: about.CreationTimestamp,
	}
	for _, o := range about.OwnerReferences {
		if o.Controller {
			p.owner = owner{Kind: line(o.Kind), Name: line(o.Name), UID: line(o.UID)}
		}
	}
	conditions := map[string]condition{}
	for _, c := range status.Conditions {
		conditions[c.Type] = c
	}
	ready := conditions["Ready"]
	p.ready = ready.Status == "True" || status.Phase == "Succeeded"
	if ready.LastTransitionTime.After(p.since) {
		p.since = ready.LastTransitionTime
	}
	if !p.ready {
		p.state, p.why = explainPod(&o, conditions["PodScheduled"], ready)
	}
	return p, nil
}

// explainPod says why a pod is not ready.
func explainPod(o *podObject, scheduled, ready condition) (State, string) {
	status := &o.Status
	switch {
	case o.Metadata.DeletionTimestamp != nil:
		return InProgress, "it is being deleted"
	case status.Phase == "Failed":
		return NotReady, podSaid("Failed", podSaid(status.Reason, status.Message))
	case scheduled.Status == "False" && scheduled.Reason == "SchedulingGated":
		return InProgress, podSaid("Pending", podSaid(scheduled.Reason, scheduled.Message))
	case scheduled.Status == "False":
		state := NotReady
		if strings.Contains(scheduled.Message, "{node.kubernetes.io/not-ready") ||
			strings.Contains(scheduled.Message, "{node.kubernetes.io/network-unavailable") {
			state = Waiting // Kubernetes taints Nodes so until they have their network
		}
		return state, podSaid("Pending", podSaid(scheduled.Reason, scheduled.Message))
	}
	for i := range status.InitContainerStatuses {
		c := &status.InitContainerStatuses[i]
		if state, why := c.explain("init container", true); why != "" {
			return state, why
		}
	}
	// A container that waits for others says less than one that has failed.
	state, why := InProgress, ""
	for i := range status.ContainerStatuses {
		s, text := status.ContainerStatuses[i].explain("container", false)
		if text != "" && (why == "" || s == NotReady && state != NotReady) {
			state, why = s, text
		}
	}
	switch {
	case why != "":
		return state, why
	case status.Phase == "Pending":
		return InProgress, "Pending"
	}
	return InProgress, podSaid("not Ready", podSaid(ready.Reason, ready.Message))
}

// explain says why a container is not ready; nothing if it is, or has done its work.
func (c *container) explain(what string, init bool) (State, string) {
	what += " " + c.Name
	ended, waits := c.State.Terminated, c.State.Waiting
	sidecar := c.Started != nil && *c.Started
	switch last := c.LastState.Terminated; {
	case c.Ready, init && ended != nil && ended.ExitCode == 0:
		return "", ""
	case ended != nil:
		return NotReady, podSaid(what, ended.text())
	case waits != nil && waits.Reason == "CrashLoopBackOff" && last != nil:
		return NotReady, podSaid(what, waits.Reason+", "+last.text())
	case waits != nil && last != nil:
		return NotReady, podSaid(what, podSaid(waits.Reason, waits.Message)+", "+last.text())
	case waits != nil:
		switch waits.Reason {
		case "", "ContainerCreating", "PodInitializing":
			return InProgress, podSaid(what, podSaid(waits.Reason, waits.Message))
		}
		return NotReady, podSaid(what, podSaid(waits.Reason, waits.Message))
	case last != nil:
		return NotReady, podSaid(what, "not ready; "+last.text()+" before")
	case init && !sidecar:
		return InProgress, podSaid(what, "runs")
	}
	return InProgress, podSaid(what, "not ready")
}

// text says how a container ended, with the last line that it left.
func (t *terminated) text() string {
	text := fmt.Sprintf("ended with exit code %d", t.ExitCode)
	if t.Reason != "" && t.Reason != "Error" {
		text += " (" + t.Reason + ")"
	}
	message := strings.TrimSpace(t.Message)
	return podSaid(text, message[strings.LastIndexByte(message, '\n')+1:])
}

// podSaid joins what is said and the details of it.
func podSaid(what, details string) string {
	what, details = line(what), line(details)
	if what == "" || details == "" {
		return what + details
	}
	return what + ": " + details
}

// maxLine is how many characters of a text from the cluster are kept.
const maxLine = 300

// line returns a text from the cluster as others may see it.
func line(text string) string { return wording.VisibleLine(text, maxLine) }

// This file judges whether the workloads of a running cluster are ready, and says why one is
// not. It reads objects of the API, and asks nobody for them.

package running

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kiln.dev/kiln/manifests"
)

// Kind is a kind of workload.
type Kind struct {
	Name     string // such as DaemonSet
	Resource string // its name in paths of the API group apps
}

// Kinds are the kinds that run pods as long as they are there.
var Kinds = []Kind{
	{"DaemonSet", "daemonsets"}, {"Deployment", "deployments"}, {"StatefulSet", "statefulsets"},
}

// Workload is a workload as its object describes it.
type Workload struct {
	Kind, Namespace, Name string
	Selector              string // of its pods, as a query of the API has it
	// Wanted and Ready count its pods.
	Wanted, Ready int
	// Settled reports that nothing is left to do: all pods that are wanted are there, in their
	// newest form, and ready.
	Settled bool

	uid      string
	deadline time.Duration // how long a change of it may take
	changed  time.Time     // when it did so last, in its status too
	// advances reports that its controller sees progress, and fault is why it sees none.
	advances bool
	fault    string
}

// What is kept of a workload at most, in bytes. The API server has the same bound for each name,
// and a query with a longer selector would not reach it.
const (
	maxNames    = 3 * 253
	maxSelector = 4 << 10
)

// usualDeadline is how long a change may take: the default of Deployments. The other kinds have no
// such field.
const usualDeadline = 10 * time.Minute

// workloadObject is what is read of all kinds. A field that a kind does not have is zero.
type workloadObject struct {
	Metadata struct {
		Name, Namespace, UID string
		Generation           int64
	}
	Spec struct {
		Replicas                *int
		Paused                  bool
		Selector                metav1.LabelSelector
		ProgressDeadlineSeconds int
		UpdateStrategy          struct {
			Type          string
			RollingUpdate struct{ Partition int }
		}
	}
	Status struct {
		ObservedGeneration int64
		// of DaemonSets
		DesiredNumberScheduled, NumberReady, NumberAvailable, UpdatedNumberScheduled int
		// of the other kinds
		ReadyReplicas, AvailableReplicas, UpdatedReplicas int
		Conditions                                        []condition
	}
}

type condition struct {
	Type, Status, Reason, Message string
	LastTransitionTime            time.Time
}

// manager is who wrote fields of an object, how, and when one of them got another value.
type manager struct {
	Manager, Operation string
	Time               time.Time
}

// maxPodParts bounds the parts of a text: an empty element of a list needs a hundred times its
// text. They are fewer than package running allows: a pod has some hundred.
const maxPodParts = 20_000

// decode reads a text of bounded memory.
func decode(text []byte, into any) error {
	if err := CheckParts(text, maxPodParts); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// Name is what a workload is found by.
type Name struct{ Resource, Namespace, Name string }

// ParseWorkload reads a workload of a kind. It returns nil if kiln did not apply it, and it is not
// wanted: the hook applies all objects, those of add-ons too, and the API server notes that with
// each. It fails if the text is no workload, or one with names that none has. Package running
// bounds what this reads.
func ParseWorkload(kind Kind, text []byte, wanted map[Name]bool) (*Workload, error) {
	var mark struct {
		Metadata struct {
			Name, Namespace string
			ManagedFields   []manager
		}
	}
	if err := json.Unmarshal(text, &mark); err != nil {
		return nil, err
	}
	applied, changed := false, time.Time{}
	for _, m := range mark.Metadata.ManagedFields {
		applied = applied || m.Manager == manifests.FieldManager && m.Operation == "Apply"
		if m.Time.After(changed) {
			changed = m.Time
		}
	}
	if !applied && !wanted[Name{kind.Resource, mark.Metadata.Namespace, mark.Metadata.Name}] {
		return nil, nil
	}
	var o workloadObject
	if err := decode(text, &o); err != nil {
		return nil, err
	}
	about := &o.Metadata
	selector, err := metav1.LabelSelectorAsSelector(&o.Spec.Selector)
	if err != nil {
		return nil, err
	}
	query := selector.String()
	if len(query) > maxSelector || len(about.Name)+len(about.Namespace)+len(about.UID) > maxNames {
		return nil, fmt.Errorf("%s %s/%s: its names or its selector are too long", kind.Name,
			line(about.Namespace), line(about.Name))
	}
	w := &Workload{
		Kind: kind.Name, Namespace: about.Namespace, Name: about.Name, uid: about.UID,
		Selector: query, changed: changed, deadline: usualDeadline,
	}
	w.count(&o)
	return w, nil
}

// count notes how many pods are wanted and ready, and whether something is left to do.
func (w *Workload) count(o *workloadObject) {
	spec, status := &o.Spec, &o.Status
	available, updated, anyForm := status.AvailableReplicas, status.UpdatedReplicas, spec.Paused
	w.Wanted, w.Ready = 1, status.ReadyReplicas
	if spec.Replicas != nil {
		w.Wanted = *spec.Replicas
	}
	switch w.Kind {
	case "DaemonSet":
		w.Wanted, w.Ready = status.DesiredNumberScheduled, status.NumberReady
		available, updated = status.NumberAvailable, status.UpdatedNumberScheduled
		anyForm = spec.UpdateStrategy.Type == "OnDelete"
	case "StatefulSet":
		anyForm = spec.UpdateStrategy.Type == "OnDelete" ||
			spec.UpdateStrategy.RollingUpdate.Partition > 0
	}
	if spec.ProgressDeadlineSeconds > 0 {
		w.deadline = time.Duration(spec.ProgressDeadlineSeconds) * time.Second
	}
	w.Settled = status.ObservedGeneration >= o.Metadata.Generation &&
		w.Ready >= w.Wanted && available >= w.Wanted && (anyForm || updated >= w.Wanted)
	if w.Kind != "Deployment" {
		return
	}
	for _, c := range status.Conditions {
		switch {
		case c.Type == "Progressing" && c.Status == "True":
			// The last one is what was once reached: pods may have failed since.
			w.advances = c.Reason != "NewReplicaSetAvailable"
		case c.Type == "Progressing" && c.Status == "False",
			c.Type == "ReplicaFailure" && c.Status == "True":
			w.fault = podSaid(c.Reason, c.Message)
		}
	}
}

// Package running reads what the Nodes of a cluster say of their machines: which document each
// runs, and how far its hook is. A machine that was taken over can say what it likes.
package running

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kiln/pki"
	"kiln/render/terminal"
)

// Annotations that the hook writes to its Node (package templates, Annotations of the Node).
const (
	TwinAnnotation = "kiln.dev/twin"
	HookAnnotation = "kiln.dev/hook"
)

// Node is what one Node says.
type Node struct {
	Name string
	// Twin is the digest of the machine's review twin, 64 hexadecimal digits; empty if the Node
	// says none.
	Twin string
	// Roots holds the state of each root that was rotated, as the machine's document has it.
	Roots map[pki.Root]pki.Rotation
	// Hook is the phase and the step of the hook, and the faults that it waits with; empty if the
	// Node says nothing.
	Hook    string
	Ready   bool
	Created time.Time
	// Cordoned reports that the Node takes no new pods.
	Cordoned bool
	Kubelet  string // its version, such as v1.36.3
	Labels   map[string]string
	Taints   []string // as kubectl taint takes them
}

// SaysDone reports whether the hook has nothing more to do.
func (n *Node) SaysDone() bool { return n.Hook == "done done" }

// maxBytes bounds a list. Five thousand Nodes, as many as Kubernetes supports, take some 60 MB.
const maxBytes = 128 << 20

// object is what is read of a Node: a list may hold much else, and all of it would be in memory.
type object struct {
	Kind     string
	Metadata struct {
		Name                string
		CreationTimestamp   time.Time
		Labels, Annotations map[string]string
	}
	Spec struct {
		Unschedulable bool
		Taints        []corev1.Taint
	}
	Status struct {
		Conditions []struct{ Type, Status string }
		NodeInfo   struct{ KubeletVersion string }
	}
}

// Parse reads the output of kubectl get nodes -o json: a list, one Node, or several of both one
// after the other. The marker may be among them, and other objects are ignored. It fails for
// anything else, for a part of a list, and if there is no Node.
func Parse(r io.Reader) (*Running, error) {
	limited := &io.LimitedReader{R: r, N: maxBytes}
	dec := json.NewDecoder(limited)
	out := &Running{}
	for {
		var item json.RawMessage
		err := dec.Decode(&item)
		if errors.Is(err, io.EOF) && limited.N > 0 {
			break
		}
		if limited.N <= 0 {
			return nil, fmt.Errorf("more than %d MiB: this is no list of Nodes", maxBytes>>20)
		}
		if err != nil {
			return nil, errors.New("not JSON; make it with: kubectl get nodes -o json")
		}
		if err := out.read(item); err != nil {
			return nil, err
		}
	}
	nodes := out.Nodes
	if len(nodes) == 0 {
		return nil, errors.New("there is no Node; make it with: kubectl get nodes -o json")
	}
	slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	for i := range nodes[1:] {
		if nodes[i].Name == nodes[i+1].Name {
			return nil, fmt.Errorf("Node %s is there twice; name one list, of one cluster",
				nodes[i].Name)
		}
	}
	return out, nil
}

// read adds what one object says: a list, a Node, or the marker.
func (r *Running) read(text json.RawMessage) error {
	var head struct {
		Kind     string
		Metadata struct{ Continue string }
		Items    []json.RawMessage
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return errors.New("not an object of Kubernetes; " +
			"make it with: kubectl get nodes -o json")
	}
	// The API server's own list has no kind in its items.
	list := head.Items
	switch head.Kind {
	case "Node":
		list = []json.RawMessage{text}
	case "List", "NodeList":
	default:
		return r.mark(appliedBy(text))
	}
	if head.Metadata.Continue != "" {
		return errors.New("this is only the first part of a list, and a machine of the rest " +
			"would be taken for absent; make it with: kubectl get nodes -o json")
	}
	for _, item := range list {
		var n object
		if err := json.NewDecoder(bytes.NewReader(item)).Decode(&n); err != nil {
			return fmt.Errorf("an object of the list cannot be read: %w", err)
		}
		if n.Kind != "" && n.Kind != "Node" {
			if err := r.mark(appliedBy(item)); err != nil {
				return err
			}
			continue
		}
		if !nodeName.MatchString(n.Metadata.Name) {
			return fmt.Errorf("%q is no name of a Node", n.Metadata.Name)
		}
		r.Nodes = append(r.Nodes, newNode(&n))
	}
	return nil
}

// mark notes what a marker says. It fails if another one has said something else.
func (r *Running) mark(objects string) error {
	if r.Objects != "" && objects != "" && r.Objects != objects {
		return errors.New("the ConfigMap kiln is there twice, and differs; name one cluster's")
	}
	r.Objects = cmp.Or(r.Objects, objects)
	return nil
}

// nodeName matches the names that a Node can have. kiln prints them in commands that people paste
// into a shell.
var nodeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

var digest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// maxSaid is how many characters are shown of what a machine says of itself.
const maxSaid = 300

// said returns what a machine says of itself as others may see it: a page, a terminal and a comment
// on a pull request obey nothing in it.
func said(text string) string {
	if runes := []rune(text); len(runes) > maxSaid {
		text = string(runes[:maxSaid]) + "…"
	}
	return terminal.Visible(strings.TrimSpace(text), "")
}

func newNode(n *object) Node {
	about := &n.Metadata
	out := Node{
		Name: about.Name, Labels: about.Labels, Kubelet: said(n.Status.NodeInfo.KubeletVersion),
		Hook:    said(about.Annotations[HookAnnotation]),
		Created: about.CreationTimestamp, Cordoned: n.Spec.Unschedulable,
	}
	twin, roots, _ := strings.Cut(about.Annotations[TwinAnnotation], " ")
	if digest.MatchString(twin) {
		out.Twin, out.Roots = twin, rootsOf(roots)
	}
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" {
			out.Ready = c.Status == "True"
		}
	}
	for _, t := range n.Spec.Taints {
		out.Taints = append(out.Taints, t.ToString())
	}
	return out
}

// rootsOf reads "ROOT: STATE; ROOT: STATE". It leaves out what no hook writes.
func rootsOf(text string) map[pki.Root]pki.Rotation {
	out := map[pki.Root]pki.Rotation{}
	for part := range strings.SplitSeq(text, "; ") {
		name, state, ok := strings.Cut(part, ": ")
		if r, err := pki.ParseRotation(state); ok && err == nil &&
			slices.Contains(pki.Roots(), pki.Root(name)) {
			out[pki.Root(name)] = r
		}
	}
	return out
}

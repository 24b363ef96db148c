// Package running reads what a running cluster says: its Nodes of their machines, which document
// each runs and how far its hook is, and its workloads, whether they are ready. A machine that was
// taken over can say what it likes.
package running

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/text/wording"
)

// Annotations that the hook writes to its Node (package templates, Annotations of the Node).
const (
	TwinAnnotation = "kiln.dev/twin"
	HookAnnotation = "kiln.dev/hook"
	BornAnnotation = "kiln.dev/born"
)

// DrainedAnnotation is on the Nodes that kiln roll has drained, and takes back.
const DrainedAnnotation = "kiln.dev/drained"

// Node is what one Node says.
type Node struct {
	Name string
	// Twin is the digest of the machine's review twin, 64 hexadecimal digits; empty if the Node
	// says none.
	Twin string
	// Older reports that the machine was made from another document, and changed since: its
	// platform may still have that one.
	Older bool
	// Roots holds the state of each root that was rotated, as the machine's document has it.
	Roots map[pki.Root]pki.Rotation
	// Hook is the phase and the step of the hook, and its faults; empty if the Node says nothing.
	Hook    string
	Ready   bool
	Created time.Time
	// Cordoned reports that the Node takes no new pods.
	Cordoned bool
	// Drained reports that kiln roll has cordoned it.
	Drained bool
	// Boot is another text each time that the machine starts.
	Boot string
	// Address is the first internal address; empty if it is none.
	Address string
	Kubelet string // its version, such as v1.36.3
	Labels  map[string]string
	Taints  []string // as kubectl taint takes them
}

// SaysDone reports whether the machine is part of its cluster, as its hook says. Faults may follow:
// what is wrong with a machine that is done keeps no other waiting.
func (n *Node) SaysDone() bool { return strings.HasPrefix(n.Hook+" ", "done done ") }

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
		Addresses  []struct{ Type, Address string }
		NodeInfo   struct{ KubeletVersion, BootID string }
	}
}

// Parse reads the output of kubectl get nodes -o json: a list, one Node, or several of both one
// after the other. The marker may be among them, and other objects are ignored. It fails for
// anything else, for a part of a list, and if there is no Node.
func Parse(in io.Reader) (*Running, error) {
	var list List
	var r Reader
	r.Read(in)
	for {
		head, err := list.Next(&r)
		switch {
		case errors.Is(err, io.EOF) && r.Unread() != nil:
			return nil, r.Unread()
		case errors.Is(err, io.EOF):
			out, err := list.Running()
			return out, withHelp(err)
		case err != nil:
			return nil, withHelp(err)
		case head.Continue != "":
			return nil, errors.New("this is only the first part of a list, and a machine of the " +
				"rest would be taken for absent; " + howToMake)
		}
	}
}

const howToMake = "make it with: kubectl get nodes -o json"

// withHelp says how a list is made, if the error is that a text is none.
func withHelp(err error) error {
	for _, none := range []error{ErrNoJSON, ErrNoObject, errNoNode} {
		if errors.Is(err, none) {
			return fmt.Errorf("%w; %s", err, howToMake)
		}
	}
	return err
}

var errNoNode = errors.New("there is no Node")

// List collects Nodes, and what the marker says.
type List struct {
	nodes   []Node
	objects string
	weight  int
}

// maxWeight bounds what is kept of the labels and taints of all Nodes: bytes, and what each of them
// costs beside its text. The 5,000 Nodes that Kubernetes supports have some 10 MB.
const (
	maxWeight = 32 << 20
	overhead  = 64
)

// Next reads an object or a list: Nodes and the marker are added, and other objects ignored. It
// returns io.EOF after the last one.
func (l *List) Next(r *Reader) (Head, error) {
	before := len(l.nodes)
	head, err := r.Next(l.add)
	if head.IsList && head.Kind != "List" && head.Kind != "NodeList" {
		l.nodes = l.nodes[:before] // a list of other objects, which say no kind of their own
	}
	return head, err
}

// Running returns what was collected, Nodes in the order of names. It fails if there is no Node, or
// one is there twice.
func (l *List) Running() (*Running, error) {
	if len(l.nodes) == 0 {
		return nil, errNoNode
	}
	slices.SortFunc(l.nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	for i := range l.nodes[1:] {
		if l.nodes[i].Name == l.nodes[i+1].Name {
			return nil, fmt.Errorf("Node %s is there twice; name one list, of one cluster",
				l.nodes[i].Name)
		}
	}
	return &Running{Nodes: l.nodes, Objects: l.objects}, nil
}

// add adds what one object says: a Node, or the marker. The API server's own list of Nodes has no
// kind in its items.
func (l *List) add(text []byte) error {
	var n object
	if err := json.Unmarshal(text, &n); n.Kind != "" && n.Kind != "Node" {
		return l.mark(appliedBy(text))
	} else if err != nil {
		return fmt.Errorf("an object of the list cannot be read: %w", err)
	}
	if !config.IsMachineName(n.Metadata.Name) { // it stands in commands that people paste
		return fmt.Errorf("%q is no name of a Node", said(n.Metadata.Name))
	}
	node := newNode(&n)
	for key, value := range node.Labels {
		l.weight += len(key) + len(value) + overhead
	}
	for _, taint := range node.Taints {
		l.weight += len(taint) + overhead
	}
	if l.weight > maxWeight {
		return fmt.Errorf("more than %d MiB of labels and taints", maxWeight>>20)
	}
	l.nodes = append(l.nodes, node)
	return nil
}

// mark notes what a marker says. It fails if another one has said something else.
func (l *List) mark(objects string) error {
	if l.objects != "" && objects != "" && l.objects != objects {
		return errors.New("the ConfigMap kiln is there twice, and differs; name one cluster's")
	}
	l.objects = cmp.Or(l.objects, objects)
	return nil
}

var digest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// maxSaid is how many characters are shown of what a machine says of itself.
const maxSaid = 300

// said returns what a machine says of itself as others may see it: a page, a terminal and a comment
// on a pull request obey nothing in it.
func said(text string) string { return wording.VisibleLine(text, maxSaid) }

func newNode(n *object) Node {
	about := &n.Metadata
	out := Node{
		Name: about.Name, Labels: about.Labels, Kubelet: said(n.Status.NodeInfo.KubeletVersion),
		Hook:    said(about.Annotations[HookAnnotation]),
		Created: about.CreationTimestamp, Cordoned: n.Spec.Unschedulable,
		Boot: said(n.Status.NodeInfo.BootID),
	}
	_, out.Drained = about.Annotations[DrainedAnnotation]
	for _, a := range n.Status.Addresses {
		// A zone may hold any text, and the address becomes a word of commands.
		ip, err := netip.ParseAddr(a.Address)
		if err == nil && ip.Zone() == "" && a.Type == "InternalIP" {
			out.Address = cmp.Or(out.Address, ip.String())
		}
	}
	twin, roots, _ := strings.Cut(about.Annotations[TwinAnnotation], " ")
	if digest.MatchString(twin) {
		out.Twin, out.Roots = twin, rootsOf(roots)
		born := about.Annotations[BornAnnotation]
		out.Older = digest.MatchString(born) && born != twin
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

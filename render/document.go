package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"time"

	"kiln/render/cloudinit"
	"kiln/render/ignition"
	"kiln/render/node"
	"kiln/render/plan"
)

// Document is the finished boot document of one machine or pool.
type Document struct {
	Dir   string   // below the output folder: the machine's name, or pools/NAME
	Files []Output // the document first, then what is delivered beside it
	Entry Entry
}

// Output is one file of a document.
type Output struct {
	Name string
	Data []byte
}

// Entry is a document's line in inventory.json.
type Entry struct {
	Node     string `json:"node"`
	Role     string `json:"role"`
	Pool     bool   `json:"pool,omitempty"`
	OS       string `json:"os"`
	Platform string `json:"platform"`
	Format   string `json:"format"`
	// Document is the path of the document below the output folder.
	Document string `json:"document"`
	SHA256   string `json:"sha256"`
	Bytes    int    `json:"bytes"`
	// Limit is the platform's limit in bytes; absent if there is none or none is known.
	Limit int `json:"limit,omitempty"`
	// Kubelet is the version of the kubelet that the machine's image has to have.
	Kubelet   string   `json:"kubeletVersion"`
	Addresses []string `json:"addresses,omitempty"`
	// InterfaceAddresses are what the machine's interfaces have beyond Addresses, where the
	// configuration configures them.
	InterfaceAddresses []string `json:"interfaceAddresses,omitempty"`
	// MAC and UUID are by what the machine can be known when it asks for its document, where the configuration says so: the address of
	// one of its interfaces, in lower case with colons, and the system UUID of its firmware.
	MAC  string `json:"mac,omitempty"`
	UUID string `json:"uuid,omitempty"`
	// Secrets are the names and generations of the secrets in the document.
	Secrets []string `json:"secrets"`
	// ValidUntil is when the first of the machine's certificates ends, or the bootstrap token that it joins with.
	ValidUntil time.Time `json:"validUntil"`
	// Others are the files delivered beside the document.
	Others []string `json:"others,omitempty"`
	// Delivery is pointer, split or lean if the machine fetches a body; absent if everything stands in the document.
	Delivery string `json:"delivery,omitempty"`
	Body     *Body  `json:"body,omitempty"`
}

// Body is what a machine fetches beside its document.
type Body struct {
	// Document is the path of the body below the output folder.
	Document string `json:"document"`
	SHA512   string `json:"sha512"`
	Bytes    int    `json:"bytes"`
	// URL is where the machine fetches it.
	URL string `json:"url"`
}

// paths are all files of the document below the output folder.
func (e *Entry) paths() []string {
	paths := append([]string{e.Document}, e.Others...)
	if e.Body != nil {
		paths = append(paths, e.Body.Document)
	}
	return paths
}

// Document renders, checks and packs the i-th machine of the plan.
func (r *Cluster) Document(i int) (*Document, error) {
	n, err := r.checked(i)
	if err != nil {
		return nil, err
	}
	return r.packed(i, n)
}

// checked is what the i-th machine of the plan receives, after every check.
func (r *Cluster) checked(i int) (*node.Node, error) {
	n, err := r.Node(i)
	if err != nil {
		return nil, err
	}
	return n, r.Check(&r.Plan.Machines[i], n)
}

// packed is the document of the i-th machine of the plan, which receives n.
func (r *Cluster) packed(i int, n *node.Node) (*Document, error) {
	m := &r.Plan.Machines[i]
	d, err := r.pack(m, n)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", m.Kind(), m.Name, err)
	}
	return d, nil
}

// pack puts n into its machine's format and holds it to the platform's limit.
func (r *Cluster) pack(m *plan.Machine, n *node.Node) (*Document, error) {
	head := r.head(m)
	d := &Document{Dir: head.folder()}
	limit := m.Platform.Limit
	open, body, err := r.divided(m, n)
	if err != nil {
		return nil, err
	}
	doc, err := pack(m, open, limit)
	if err != nil {
		return nil, err
	}
	if limit > 0 && len(doc) > limit {
		return nil, tooLarge(m, open, len(doc))
	}
	switch m.System.Format {
	case plan.Ignition:
		d.Files = []Output{{"config.ign", doc}}
	default:
		d.Files = []Output{{"user-data", doc}}
		d.Files = append(d.Files, Output{"meta-data", cloudinit.MetaData(m.NodeName(), r.instance(m))})
		if len(n.NetworkConfig) > 0 {
			d.Files = append(d.Files, Output{networkConfigFile, n.NetworkConfig})
		}
	}
	sum := sha256.Sum256(doc)
	d.Entry = Entry{
		Node: m.Name, Role: m.Role, Pool: m.Pool, OS: m.System.Name, Platform: m.Platform.Name, Format: string(m.System.Format),
		Document: path.Join(d.Dir, d.Files[0].Name), SHA256: hex.EncodeToString(sum[:]), Bytes: len(doc), Limit: limit,
		Kubelet: head.kubelet, Addresses: m.AddressStrings(),
		InterfaceAddresses: interfaceAddresses(m), MAC: m.MAC, UUID: m.ProductUUID, Secrets: secrets(n), ValidUntil: r.validUntil(m),
	}
	for _, o := range d.Files[1:] {
		d.Entry.Others = append(d.Entry.Others, path.Join(d.Dir, o.Name))
	}
	if body != nil {
		d.Files = append(d.Files, *body)
		d.Entry.Delivery = m.Settings.Delivery.Mode
		d.Entry.Body = &Body{Document: path.Join(d.Dir, body.Name), SHA512: open.Remote.SHA512, Bytes: len(body.Data), URL: open.Remote.URL}
	}
	return d, nil
}

// interfaceAddresses are the addresses of m's interfaces that are not among its own, in their
// order.
func interfaceAddresses(m *plan.Machine) (out []string) {
	for i := range m.Interfaces {
		for _, p := range m.Interfaces[i].Addresses {
			if !slices.Contains(m.Addresses, p.Addr()) {
				out = append(out, p.Addr().String())
			}
		}
	}
	return out
}

// pack returns n in m's format, as small as limit needs it.
func pack(m *plan.Machine, n *node.Node, limit int) ([]byte, error) {
	if m.System.Format == plan.Ignition {
		return ignition.Pack(n, limit)
	}
	return cloudinit.Pack(n, limit, m.Platform.TextOnly)
}

// validUntil is when the first of m's certificates ends, or the bootstrap token that it joins with.
func (r *Cluster) validUntil(m *plan.Machine) time.Time {
	if m.Token {
		return r.TokenExpiry(m)
	}
	_, until := r.Validity(m)
	return until
}

// instance is cloud-init's instance-id: of this machine in this cluster. It stays the same when the document changes,
// so that a machine that already runs is never configured a second time.
func (r *Cluster) instance(m *plan.Machine) string {
	sum := sha256.Sum256([]byte(r.Public.Cluster + "/" + m.Name))
	return "kiln-" + m.Name + "-" + hex.EncodeToString(sum[:4])
}

func secrets(n *node.Node) []string {
	names := []string{}
	for _, f := range n.Files {
		if f.Secret != "" {
			names = append(names, f.Secret)
		}
	}
	slices.Sort(names)
	return names
}

// Size is how large a document is, and what makes it so.
type Size struct {
	Entry   Entry
	Largest []FileSize // the largest first
}

// FileSize is a file's size before compression.
type FileSize struct {
	Path  string
	Bytes int
}

// Sizes are those of all documents, in the plan's order; none without the bundle. So many of the largest files are named.
func (r *Cluster) Sizes(largest int) ([]Size, error) {
	if r.Bundle == nil {
		return nil, nil
	}
	out := make([]Size, r.Machines())
	errs := make([]error, r.Machines())
	for i := range out {
		n, err := r.checked(i)
		if err != nil {
			errs[i] = err
			continue
		}
		d, err := r.packed(i, n)
		if err != nil {
			errs[i] = err
			continue
		}
		out[i].Entry = d.Entry
		for _, f := range bySize(n)[:min(largest, len(n.Files))] {
			out[i].Largest = append(out[i].Largest, FileSize{f.Path, len(f.Content)})
		}
	}
	return out, joined(errs)
}

// bySize are a machine's files, the largest first.
func bySize(n *node.Node) []node.File {
	files := slices.Clone(n.Files)
	slices.SortStableFunc(files, func(a, b node.File) int { return len(b.Content) - len(a.Content) })
	return files
}

// Try renders, checks and packs every machine and keeps nothing.
func (r *Cluster) Try() error {
	errs := make([]error, r.Machines())
	for i := range errs {
		_, errs[i] = r.Document(i)
	}
	return joined(errs)
}

// Package document turns a finished machine into its boot document: Ignition or cloud-init, no
// larger than the platform accepts, with the files that are delivered beside it. It also reads
// documents back, in each form in which a cloud or a person hands them over, and it has the types
// of the inventory that lists all documents of a cluster.
//
// Package assembly decides what a machine receives, ignition and cloudinit know the formats, and
// render writes the files.
package document

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/pack/cloudinit"
	"kiln.dev/kiln/render/pack/ignition"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/secret"
)

// NetworkConfigFile is the file beside a user-data that holds cloud-init's network configuration.
const NetworkConfigFile = "network-config"

// Document is the finished boot document of one machine or pool.
type Document struct {
	Dir   string   // below the output folder: the machine's name, or pools/NAME
	Files []Output // the document first, then the files delivered beside it
	Entry Entry
}

// Output is one file of a document.
type Output struct {
	Name string
	Data []byte
}

// Packer packs the machines of one cluster. Its methods may be called from several goroutines.
type Packer struct {
	cluster *secret.Cluster
	formats
}

// NewPacker returns a packer for a cluster.
func NewPacker(c *secret.Cluster) *Packer { return &Packer{cluster: c} }

// formats are the packers of both formats, which do once what machines have in common.
type formats struct {
	ignition  ignition.Packer
	cloudinit cloudinit.Packer
}

// Pack returns the document of n, the finished machine that the plan calls m. Each error names the
// machine. It fails with config.Problems if the document is larger than the platform accepts. It
// also fails if the format cannot express the machine, or if the CA of the delivery cannot be read.
func (p *Packer) Pack(m *plan.Machine, n *node.Node) (*Document, error) {
	d, err := p.machine(m, n)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", m.Kind(), m.Name, err)
	}
	return d, nil
}

func (p *Packer) machine(m *plan.Machine, n *node.Node) (*Document, error) {
	c := p.cluster
	own, body, err := p.splitBody(m, n)
	if err != nil {
		return nil, err
	}
	limit := m.Platform.Limit
	doc, err := p.envelope(m, own, limit)
	if err != nil {
		return nil, err
	}
	if limit > 0 && len(doc) > limit {
		return nil, sizeError(c.Plan.Config, m, own, len(doc))
	}
	advice, err := nearAdvice(c.Plan.Config, m, own, len(doc))
	if err != nil {
		return nil, err
	}
	d := &Document{Dir: m.Folder()}
	switch m.System.Format {
	case target.Ignition:
		d.Files = []Output{{"config.ign", doc}}
	default:
		metaData := cloudinit.MetaData(m.NodeName(), instanceID(c, m))
		d.Files = []Output{{"user-data", doc}, {"meta-data", metaData}}
		if len(n.NetworkConfig) > 0 {
			d.Files = append(d.Files, Output{NetworkConfigFile, n.NetworkConfig})
		}
	}
	sum := sha256.Sum256(doc)
	d.Entry = Entry{
		Node:               m.Name,
		Role:               m.Role,
		Pool:               m.Pool,
		OS:                 m.System.Name,
		Platform:           m.Platform.Name,
		Format:             string(m.System.Format),
		Document:           path.Join(d.Dir, d.Files[0].Name),
		SHA256:             hex.EncodeToString(sum[:]),
		Bytes:              len(doc),
		Limit:              limit,
		Advice:             advice,
		Kubelet:            m.KubeletVersion,
		Addresses:          m.AddressStrings(),
		InterfaceAddresses: interfaceAddresses(m),
		MAC:                m.MAC,
		UUID:               m.ProductUUID,
		Secrets:            secretNames(n),
		Exposure:           ExposureOf(c, m),
		ValidUntil:         c.Public.ValidUntil(c.Plan, m),
	}
	if m.Announces() {
		d.Entry.Announce = m.AnnounceURL()
	}
	for _, o := range d.Files[1:] {
		d.Entry.Others = append(d.Entry.Others, path.Join(d.Dir, o.Name))
	}
	if body != nil {
		d.Files = append(d.Files, *body)
		d.Entry.Delivery = m.Settings.Delivery.Mode
		d.Entry.Body = &Body{
			Document: path.Join(d.Dir, body.Name),
			SHA512:   own.Remote.SHA512,
			Bytes:    len(body.Data),
			URL:      own.Remote.URL,
		}
	}
	return d, nil
}

// envelope returns n in the format of m. It is compressed as far as needed to be no larger than
// limit bytes; 0 means no limit. The result may still be larger.
func (f *formats) envelope(m *plan.Machine, n *node.Node, limit int) ([]byte, error) {
	if m.System.Format == target.Ignition {
		return f.ignition.Pack(n, limit)
	}
	return f.cloudinit.Pack(n, limit, m.Platform.TextOnly)
}

// instanceID returns cloud-init's instance-id for m. It depends only on the cluster and the
// machine's name: if it changed with the document, cloud-init would configure a running machine
// again.
func instanceID(c *secret.Cluster, m *plan.Machine) string {
	sum := sha256.Sum256([]byte(c.Public.Cluster + "/" + m.Name))
	return "kiln-" + m.Name + "-" + hex.EncodeToString(sum[:4])
}

// interfaceAddresses returns the addresses of m's interfaces that are not among its own addresses,
// in their order.
func interfaceAddresses(m *plan.Machine) (addresses []string) {
	for i := range m.Interfaces {
		for _, p := range m.Interfaces[i].Addresses {
			if !slices.Contains(m.Addresses, p.Addr()) {
				addresses = append(addresses, p.Addr().String())
			}
		}
	}
	return addresses
}

// secretNames returns the marks of the secrets of n, sorted. It is never nil, so that JSON shows
// [].
func secretNames(n *node.Node) []string {
	names := []string{}
	for _, f := range n.Files {
		if f.Secret != "" {
			names = append(names, f.Secret)
		}
	}
	slices.Sort(names)
	return names
}

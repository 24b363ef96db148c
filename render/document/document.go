// Package document puts a machine into its envelope: the boot document in its format, held to the
// platform's limit, with what is delivered beside it. It also reads a document back, in any form in
// which a cloud or a person hands it over.
package document

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"

	"kiln/render/assembly"
	"kiln/render/cloudinit"
	"kiln/render/ignition"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/target"
)

// NetworkConfigFile is delivered beside a user-data.
const NetworkConfigFile = "network-config"

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

// Pack puts n, which m receives, into m's format and holds it to the platform's limit.
func Pack(c *assembly.Cluster, m *plan.Machine, n *node.Node) (*Document, error) {
	d, err := packMachine(c, m, n)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", m.Kind(), m.Name, err)
	}
	return d, nil
}

func packMachine(c *assembly.Cluster, m *plan.Machine, n *node.Node) (*Document, error) {
	d := &Document{Dir: m.Folder()}
	limit := m.Platform.Limit
	open, body, err := split(c, m, n)
	if err != nil {
		return nil, err
	}
	doc, err := envelope(m, open, limit)
	if err != nil {
		return nil, err
	}
	if limit > 0 && len(doc) > limit {
		return nil, tooLarge(m, open, len(doc))
	}
	switch m.System.Format {
	case target.Ignition:
		d.Files = []Output{{"config.ign", doc}}
	default:
		d.Files = []Output{{"user-data", doc}}
		d.Files = append(d.Files, Output{"meta-data", cloudinit.MetaData(m.NodeName(), instance(c, m))})
		if len(n.NetworkConfig) > 0 {
			d.Files = append(d.Files, Output{NetworkConfigFile, n.NetworkConfig})
		}
	}
	sum := sha256.Sum256(doc)
	d.Entry = Entry{
		Node: m.Name, Role: m.Role, Pool: m.Pool, OS: m.System.Name, Platform: m.Platform.Name, Format: string(m.System.Format),
		Document: path.Join(d.Dir, d.Files[0].Name), SHA256: hex.EncodeToString(sum[:]), Bytes: len(doc), Limit: limit,
		Kubelet: c.Plan.KubeletVersion(m), Addresses: m.AddressStrings(),
		InterfaceAddresses: interfaceAddresses(m), MAC: m.MAC, UUID: m.ProductUUID, Secrets: secrets(n), ValidUntil: c.ValidUntil(m),
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

// envelope returns n in m's format, as small as limit needs it.
func envelope(m *plan.Machine, n *node.Node, limit int) ([]byte, error) {
	if m.System.Format == target.Ignition {
		return ignition.Pack(n, limit)
	}
	return cloudinit.Pack(n, limit, m.Platform.TextOnly)
}

// instance is cloud-init's instance-id: of this machine in this cluster. It stays the same when the document changes,
// so that a machine that already runs is never configured a second time.
func instance(c *assembly.Cluster, m *plan.Machine) string {
	sum := sha256.Sum256([]byte(c.Public.Cluster + "/" + m.Name))
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

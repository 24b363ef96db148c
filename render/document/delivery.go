package document

import (
	"crypto/sha512"
	"encoding/hex"
	"encoding/pem"
	"fmt"

	"kiln/render/assembly"
	"kiln/render/cloudinit"
	"kiln/render/ignition"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/secret"
	"kiln/render/target"
)

// BodyNames are the names of bodies, which lie beside documents.
var BodyNames = map[target.Format]string{target.Ignition: "body.ign", target.CloudInit: "body.sh"}

// split returns what m's document has, and the body that m fetches; nil if everything stands in the document. What is in either was checked as one
// machine before.
func split(c *assembly.Cluster, m *plan.Machine, n *node.Node) (own *node.Node, body *Output, err error) {
	d := &m.Settings.Delivery
	if !d.Fetches() {
		return n, nil, nil
	}
	ca, err := deliveryCA(c, m)
	if err != nil {
		return nil, nil, err
	}
	remote := &node.Remote{CA: ca, Whole: d.Mode == "pointer"}
	rest := n
	switch {
	case !remote.Whole:
		// What contradicts itself may be divided and no longer show.
		if _, err := inOne(m, n); err != nil {
			return nil, nil, err
		}
		// A secret may be anywhere in what only Ignition can express.
		secrets := d.Mode == "split"
		own, rest = n.Split(func(f *node.File) bool { return unreadable(f) == secrets }, secrets)
	case m.System.Format == target.CloudInit:
		// Who may log in stands in the document: also where nothing can be fetched somebody has to find out why. So do cloud-init's own keys,
		// which a script cannot express and which hold no secret.
		own = &node.Node{Name: n.Name, Role: n.Role, Login: n.Login, AuthorizedKeys: n.AuthorizedKeys, CloudConfig: n.CloudConfig}
		less := *n
		less.CloudConfig = nil
		rest = &less
	default:
		own = &node.Node{Name: n.Name, Role: n.Role}
	}
	remote.Named = m.System.Format == target.CloudInit && rest.File("/etc/hostname") != nil
	body = &Output{Name: BodyNames[m.System.Format]}
	if m.System.Format == target.Ignition {
		body.Data, err = ignition.Pack(rest, 0)
	} else {
		body.Data, err = cloudinit.Body(rest)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", body.Name, err)
	}
	sum := sha512.Sum512(body.Data)
	remote.SHA512, remote.Bytes = hex.EncodeToString(sum[:]), len(body.Data)
	remote.URL = d.BodyURL(m.Name, remote.SHA512)
	own.Remote = remote
	return own, body, nil
}

// inOne is n as a document of m's format, in plain.
func inOne(m *plan.Machine, n *node.Node) ([]byte, error) {
	if m.System.Format == target.Ignition {
		return ignition.Pack(n, 0)
	}
	return cloudinit.Pack(n, 0, false)
}

// unreadable says that a file belongs into the body of delivery mode split, and into the document of mode lean: a secret, and whatever kiln unpack would not
// show of a document, such as the list of hashes, by which a short secret can be guessed.
func unreadable(f *node.File) bool { return f.Secret != "" || secret.IsConcealed(f) }

// deliveryCA is the certificate of the CA that m trusts where its body is; empty if it is one that its system trusts.
func deliveryCA(c *assembly.Cluster, m *plan.Machine) ([]byte, error) {
	d := &m.Settings.Delivery
	switch {
	case d.CA == "cluster":
		return c.Public.CA.PEM(), nil
	case d.CAFrom == "":
		return nil, nil
	}
	var out []byte
	for block, rest := pem.Decode(c.Plan.Config.Text(d.CAFrom)); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			// Without the text that tools write before it.
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("delivery.caFrom: %s: no certificate in PEM", d.CAFrom)
	}
	return out, nil
}

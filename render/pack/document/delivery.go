package document

import (
	"crypto/sha512"
	"encoding/hex"
	"fmt"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/pack/cloudinit"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/secret"
)

// BodyNames holds the file name of a body, which lies beside its document, by format.
var BodyNames = map[target.Format]string{target.Ignition: "body.ign", target.CloudInit: "body.sh"}

// splitBody divides n according to the delivery mode of m: own stands in the document, and body is
// the file that the machine fetches. body is nil if everything stands in the document. Both halves
// were checked together, as one machine, before.
func (p *Packer) splitBody(
	m *plan.Machine, n *node.Node,
) (own *node.Node, body *Output, err error) {
	d := &m.Settings.Delivery
	if !d.Fetches() {
		return n, nil, nil
	}
	c := p.cluster
	ca := c.Public.TrustedCA(d.CA, c.Plan.Config.Text(d.CAFrom))
	own, rest, err := p.divide(m, n)
	if err != nil {
		return nil, nil, err
	}
	body, err = p.packBody(m, rest)
	if err != nil {
		return nil, nil, err
	}
	sum := sha512.Sum512(body.Data)
	hexSum := hex.EncodeToString(sum[:])
	own.Remote = &node.Remote{
		URL:    d.BodyURL(m.Name, hexSum),
		SHA512: hexSum,
		Bytes:  len(body.Data),
		CA:     ca,
		Whole:  d.Mode == "pointer",
		Named:  m.System.Format == target.CloudInit && rest.File("/etc/hostname") != nil,
	}
	return own, body, nil
}

// divide returns the part of n that stands in the document, and the rest, which stands in the body.
// It fails if the format cannot express n.
func (f *formats) divide(m *plan.Machine, n *node.Node) (own, rest *node.Node, err error) {
	switch mode := m.Settings.Delivery.Mode; {
	case mode != "pointer":
		// Pack it whole once: a conflict between the two halves would not show after splitting.
		if _, err := f.envelope(m, n, 0); err != nil {
			return nil, nil, err
		}
		// What only Ignition can express may hold a secret anywhere, so it goes with the secrets.
		secretsInBody := mode == "split"
		// The list of hashes counts too: short secrets can be guessed from it.
		inBody := func(f *node.File) bool {
			return (f.Secret != "" || secret.IsConcealed(f)) == secretsInBody
		}
		own, rest = n.Split(inBody, secretsInBody)
		return own, rest, nil
	case m.System.Format == target.CloudInit:
		// Logins stand in the document: if the body cannot be fetched, somebody must be able to log
		// in and find out why. So do cloud-init's own keys, which hold no secret and which the
		// script in the body cannot express.
		own = &node.Node{
			Name: n.Name, Role: n.Role,
			Login: n.Login, AuthorizedKeys: n.AuthorizedKeys,
			CloudConfig: n.CloudConfig,
		}
		remaining := *n
		remaining.CloudConfig = nil
		return own, &remaining, nil
	default:
		return &node.Node{Name: n.Name, Role: n.Role}, n, nil
	}
}

// packBody returns the body that holds rest, in the format of m.
func (f *formats) packBody(m *plan.Machine, rest *node.Node) (*Output, error) {
	body := &Output{Name: BodyNames[m.System.Format]}
	var err error
	if m.System.Format == target.Ignition {
		body.Data, err = f.ignition.Pack(rest, 0)
	} else {
		body.Data, err = cloudinit.Body(rest)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", body.Name, err)
	}
	return body, nil
}

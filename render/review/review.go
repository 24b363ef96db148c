// Package review writes and reads what people may see of a cluster: the review twin, a folder that is
// safe for git and comparable, and the contents of an unpacked document. Nothing in it is computed from
// a secret.
package review

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	"kiln/pki"
	"kiln/render/assembly"
	"kiln/render/node"
	"kiln/render/plan"
)

// reviewed returns what a reader may see of a machine. Every file has its line; below it stands what is known of a file whose content is
// not shown, and what certificates say. The file of an entry is nil unless its content is shown. Nothing is computed from a secret.
func reviewed(n *node.Node) []entry {
	list := entries(n)
	for i := range list {
		e := &list[i]
		if e.file == nil {
			continue
		}
		shown := e.file.Shown
		if e.file.Secret != "" {
			e.text = strings.TrimSuffix(e.text, "\n") + " <secret " + e.file.Secret + ">\n"
		} else if len(shown) == 0 {
			shown = certificates(e.file.Content)
		}
		if len(shown) > 0 {
			e.text += indented(strings.Join(shown, "\n")) + "\n"
		}
		if e.file.Secret != "" || len(e.file.Shown) > 0 {
			e.file = nil
		}
	}
	return list
}

// certificates describes each certificate of a PEM file.
func certificates(data []byte) (lines []string) {
	if !bytes.Contains(data, []byte("-----BEGIN CERTIFICATE-----")) {
		return nil
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			lines = append(lines, "certificate that cannot be read")
			continue
		}
		lines = append(lines, "certificate: "+pki.Summary(cert))
	}
	return lines
}

// reviewedAdmin is the line of the operator's kubeconfig, which is on no machine.
func reviewedAdmin(c *assembly.Cluster) (string, error) {
	spec := c.Public.AdminSpec(c.Plan)
	cert, err := c.Public.Template(spec)
	if err != nil {
		return "", err
	}
	secret := c.Public.Mark(spec.Name)
	return fmt.Sprintf("file %s %s <secret %s>\n%s\n", plan.AdminFile, c.Plan.EndpointURL(), secret, indented("certificate "+secret+": "+pki.Summary(cert))), nil
}

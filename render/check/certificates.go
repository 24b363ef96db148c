package check

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kiln/pki"
)

const (
	asClient = x509.ExtKeyUsageClientAuth
	asServer = x509.ExtKeyUsageServerAuth
)

// checkCertificates: each one that we issued for the machine verifies against its CA for its purposes and names, at the
// bundle's issue time.
func (c *inspection) checkCertificates() {
	b := c.cluster.Public
	for _, spec := range b.Specs(c.cluster.Plan, c.machine) {
		cert := c.certificate(spec.CertPath)
		if cert == nil {
			c.fail("certificate %s: %s is missing or holds none", spec.Name, spec.CertPath)
			continue
		}
		if described, err := b.Template(spec); err != nil || pki.Summary(described) != pki.Summary(cert) {
			c.fail("certificate %s: %s is not what the review twin says of it", spec.Name, spec.CertPath)
		}
		for _, usage := range spec.Usages {
			if err := c.verify(spec.CertPath, b.Authority(spec.Signer).Certificate, usage); err != nil {
				c.fail("certificate %s: %w", spec.Name, err)
			}
		}
		for _, name := range slices.Concat(spec.Names.DNS, addressStrings(spec)) {
			if err := cert.VerifyHostname(name); err != nil && !strings.HasPrefix(name, "*.") {
				c.fail("certificate %s: %w", spec.Name, err)
			}
		}
	}
}

func addressStrings(spec pki.Spec) (out []string) {
	for _, a := range spec.Names.IPs {
		out = append(out, a.String())
	}
	return out
}

// verify returns an error unless the certificate in a file is ca's, valid at the bundle's issue time and for that usage.
func (c *inspection) verify(path string, ca *x509.Certificate, usage x509.ExtKeyUsage) error {
	cert := c.certificate(path)
	if cert == nil {
		return errors.New("not a certificate")
	}
	at := signature{c.resolve(path), ca}
	err, done := c.verified[at]
	switch {
	case done:
	case c.cluster.Bundle == nil:
		// What describes a certificate has no signature.
		if cert.Issuer.String() != ca.Subject.String() {
			err = fmt.Errorf("signed by %s", cert.Issuer)
		}
	default:
		roots := x509.NewCertPool()
		roots.AddCert(ca)
		_, err = cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}, CurrentTime: c.cluster.Public.Issued})
		c.verified[at] = err
	}
	if err == nil && !slices.Contains(cert.ExtKeyUsage, usage) {
		return fmt.Errorf("not a certificate for a %s", map[x509.ExtKeyUsage]string{asClient: "client", asServer: "server"}[usage])
	}
	return err
}

// requireVerifies: the certificate in one file verifies with a CA in the other. Files that are not in the document are not judged.
func (c *inspection) requireVerifies(cert, ca reference, usage x509.ExtKeyUsage) {
	if c.file(cert.path) == nil || c.file(ca.path) == nil {
		return
	}
	err := errors.New("no certificate there")
	for _, root := range c.authorities(ca.path) {
		if err = c.verify(cert.path, root, usage); err == nil {
			return
		}
	}
	c.fail("%s: %s does not verify with %s (%s): %w; name the CA that signed it", cert.source, cert.path, ca.path, ca.source, err)
}

// requireAuthority: the file holds the certificate of one of our CAs.
func (c *inspection) requireAuthority(file reference, ca *pki.Authority) {
	if c.file(file.path) != nil && !slices.Contains(c.authorities(file.path), ca.Certificate) {
		c.fail("%s: %s does not hold the CA %q of this cluster; name the file that does", file.source, file.path, ca.Certificate.Subject.CommonName)
	}
}

// requirePair: the key is the certificate's.
func (c *inspection) requirePair(cert, key reference) {
	certFile, keyFile := c.file(cert.path), c.file(key.path)
	if certFile == nil || keyFile == nil || c.lacksContent(certFile) || c.lacksContent(keyFile) {
		return
	}
	if _, err := tls.X509KeyPair(certFile.Content, keyFile.Content); err != nil {
		c.fail("%s: %s is not the key of %s (%s); name the pair", key.source, key.path, cert.path, cert.source)
	}
}

// requireCertificateFor: the certificate is for the server's name or URL.
func (c *inspection) requireCertificateFor(cert reference, by, server string) {
	host, err := hostName(server)
	if err != nil {
		c.fail("%s: %w", by, err)
		return
	}
	if own := c.certificate(cert.path); own != nil && own.VerifyHostname(host) != nil {
		c.fail("%s: clients dial %s, and %s is not for it; correct the node's addresses", by, host, cert.path)
	}
}

// readDescriptions lets the descriptions of the machine's certificates stand for the certificates, which need keys.
func (c *inspection) readDescriptions() {
	if c.cluster.Bundle != nil {
		return
	}
	for _, spec := range c.cluster.Public.Specs(c.cluster.Plan, c.machine) {
		if cert, err := c.cluster.Public.Template(spec); err == nil && c.files[spec.CertPath] != nil {
			c.parsed[spec.CertPath] = []*x509.Certificate{cert}
		}
	}
}

// certificate returns the first certificate in a file, or nil.
func (c *inspection) certificate(path string) *x509.Certificate {
	if all := c.authorities(path); len(all) > 0 {
		return all[0]
	}
	return nil
}

// authorities returns the certificates in a file. The bundle's CAs are always the same pointers.
func (c *inspection) authorities(path string) []*x509.Certificate {
	path = c.resolve(path)
	if known, ok := c.parsed[path]; ok {
		return known
	}
	var out []*x509.Certificate
	if f := c.files[path]; f != nil {
		for block, rest := pem.Decode(f.Content); block != nil; block, rest = pem.Decode(rest) {
			if block.Type != "CERTIFICATE" {
				continue
			}
			if cert := c.facts.authority(block.Bytes); cert != nil {
				out = append(out, cert)
			} else if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
				out = append(out, cert)
			}
		}
	}
	c.parsed[path] = out
	return out
}

// authority returns the bundle's CA with that certificate, or nil.
func (f *facts) authority(der []byte) *x509.Certificate {
	b := f.cluster.Public
	for _, ca := range []*pki.Authority{&b.CA, &b.EtcdCA, &b.FrontProxyCA} {
		if bytes.Equal(ca.Certificate.Raw, der) {
			return ca.Certificate
		}
	}
	return nil
}

// publicKey returns the public key of a file with either half of a pair, or nil.
func (c *inspection) publicKey(path string) []byte {
	f := c.file(path)
	if f == nil {
		return nil
	}
	text := f.Content
	if key, err := pki.ParseKey(text); err == nil {
		text = key.PublicPEM()
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil
	}
	return block.Bytes
}

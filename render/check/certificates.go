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
	"time"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/plan"
)

const (
	asClient = x509.ExtKeyUsageClientAuth
	asServer = x509.ExtKeyUsageServerAuth
)

// checkCertificates checks that each certificate that kiln issued equals its template, and verifies
// when it was issued or renewed, for its usages and names.
func (c *inspection) checkCertificates() {
	b := c.cluster.Public
	for _, spec := range b.Specs(c.cluster.Plan, c.machine) {
		cert := c.certificate(spec.CertPath)
		if cert == nil {
			c.fail("certificate %s: %s is missing or holds none", spec.Name, spec.CertPath)
			continue
		}
		template, err := b.Template(spec)
		if err != nil || pki.Summary(template) != pki.Summary(cert) {
			c.fail("certificate %s: %s is not what the review twin says of it",
				spec.Name, spec.CertPath)
		}
		for _, usage := range spec.Usages {
			ca := b.Authority(spec.Signer).Certificate
			if err := c.verify(spec.CertPath, ca, usage); err != nil {
				c.fail("certificate %s: %w", spec.Name, err)
			}
		}
		for _, name := range slices.Concat(spec.Names.DNS, addressStrings(spec)) {
			err := cert.VerifyHostname(name)
			if err != nil && !strings.HasPrefix(name, "*.") {
				c.fail("certificate %s: %w", spec.Name, err)
			}
		}
	}
}

func addressStrings(spec pki.Spec) (addresses []string) {
	for _, a := range spec.Names.IPs {
		addresses = append(addresses, a.String())
	}
	return addresses
}

// readDescriptions lets templates stand for the machine's certificates if the cluster is rendered
// without secrets: a certificate needs a key, a template does not.
func (c *inspection) readDescriptions() {
	if c.cluster.Bundle != nil {
		return
	}
	for _, spec := range c.cluster.Public.Specs(c.cluster.Plan, c.machine) {
		template, err := c.cluster.Public.Template(spec)
		if err == nil && c.tree.Exact(spec.CertPath) != nil {
			c.parsed[spec.CertPath] = []*x509.Certificate{template}
		}
	}
}

// requireVerifies wants the certificate in one file to verify with a CA in the other.
func (c *inspection) requireVerifies(cert, ca machine.Reference, usage x509.ExtKeyUsage) {
	if c.tree.File(cert.Path) == nil || c.tree.File(ca.Path) == nil {
		return
	}
	err := errors.New("no certificate there")
	for _, root := range c.certificatesIn(ca.Path) {
		if err = c.verify(cert.Path, root, usage); err == nil {
			return
		}
	}
	c.fail("%s: %s does not verify with %s (%s): %w; name the CA that signed it",
		cert.Source, cert.Path, ca.Path, ca.Source, err)
}

// requireTrusted wants a file to hold every CA in the place of signer: two while the CA is rotated.
func (c *inspection) requireTrusted(file machine.Reference, signer pki.Signer) {
	for _, ca := range c.cluster.Public.Trusted(signer) {
		c.requireAuthority(file, ca.Authority)
	}
}

// requireAuthority wants a file to hold the certificate of ca.
func (c *inspection) requireAuthority(file machine.Reference, ca *pki.Authority) {
	if c.tree.File(file.Path) == nil {
		return
	}
	if !slices.Contains(c.certificatesIn(file.Path), ca.Certificate) {
		c.fail("%s: %s does not hold the CA %q of this cluster; name the file that does",
			file.Source, file.Path, ca.Certificate.Subject.CommonName)
	}
}

// requireIssuer wants a file to hold the CA that signs in the place of signer, and nothing else.
func (c *inspection) requireIssuer(file machine.Reference, signer pki.Signer) {
	c.requireAuthority(file, c.cluster.Public.Authority(signer))
	if all := c.certificatesIn(file.Path); len(all) > 1 {
		c.fail("%s: %s holds %d certificates, and a signer wants exactly one; name %s",
			file.Source, file.Path, len(all), plan.CASigning)
	}
}

// requirePair wants the key to belong to the certificate. An unknown content passes.
func (c *inspection) requirePair(cert, key machine.Reference) {
	certFile, keyFile := c.tree.File(cert.Path), c.tree.File(key.Path)
	if certFile == nil || keyFile == nil || c.lacksContent(certFile) || c.lacksContent(keyFile) {
		return
	}
	// Files as kiln writes them need no second parser: the first certificate is known already.
	end := max(0, bytes.Index(keyFile.Content, []byte(" PRIVATE KEY-----")))
	begin := max(0, bytes.LastIndex(keyFile.Content[:end], []byte("-----BEGIN ")))
	own, err := private.ParseKey(keyFile.Content[begin:])
	block, _ := pem.Decode(certFile.Content)
	if known := c.certificate(cert.Path); err == nil && known != nil &&
		bytes.Equal(block.Bytes, known.Raw) && own.Fits(known.PublicKey) {
		return
	}
	if _, err := tls.X509KeyPair(certFile.Content, keyFile.Content); err != nil {
		c.fail("%s: %s is not the key of %s (%s); name the pair",
			key.Source, key.Path, cert.Path, cert.Source)
	}
}

// requireCertificateFor wants a certificate to be valid for a server, a URL or a name.
func (c *inspection) requireCertificateFor(source, server string, cert machine.Reference) {
	host, err := machine.HostName(server)
	if err != nil {
		c.fail("%s: %w", source, err)
		return
	}
	if known := c.certificate(cert.Path); known != nil && known.VerifyHostname(host) != nil {
		c.fail("%s: clients dial %s, and %s is not for it; correct the node's addresses",
			source, host, cert.Path)
	}
}

// verify returns an error unless the certificate in a file is signed by ca, valid when the
// machine's certificates were issued or renewed, and made for the usage.
func (c *inspection) verify(path string, ca *x509.Certificate, usage x509.ExtKeyUsage) error {
	cert := c.certificate(path)
	if cert == nil {
		return errors.New("not a certificate")
	}
	key := signature{c.tree.Resolve(path), ca}
	err, known := c.verified[key]
	switch {
	case known:
	case c.cluster.Bundle == nil:
		// A template has no signature.
		if cert.Issuer.String() != ca.Subject.String() {
			err = fmt.Errorf("signed by %s", cert.Issuer)
		}
	default:
		roots := x509.NewCertPool()
		roots.AddCert(ca)
		_, err = cert.Verify(x509.VerifyOptions{
			Roots:       roots,
			KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
			CurrentTime: c.start(path),
		})
		c.verified[key] = err
	}
	if err == nil && !slices.Contains(cert.ExtKeyUsage, usage) {
		role := map[x509.ExtKeyUsage]string{asClient: "client", asServer: "server"}[usage]
		return fmt.Errorf("not a certificate for a %s", role)
	}
	return err
}

// start returns a time at which a certificate of the machine has to be valid: when the machine's
// certificates were issued or renewed. No renewal moves the install credential.
func (c *inspection) start(path string) time.Time {
	at := c.cluster.Public.Start(c.machine.Name)
	if c.tree.Resolve(path) == installCert {
		at = c.cluster.Public.Issued
	}
	if len(c.cluster.Public.External.Roots) == 0 {
		return at
	}
	// What was signed elsewhere begins when it was signed.
	if cert := c.certificate(path); cert != nil && at.Before(cert.NotBefore) {
		return cert.NotBefore
	}
	return at
}

var installCert, _ = plan.Cert("install")

func (c *inspection) certificate(path string) *x509.Certificate {
	if all := c.certificatesIn(path); len(all) > 0 {
		return all[0]
	}
	return nil
}

// certificatesIn returns the certificates in a file. A CA of this cluster is always returned as the
// pointer that the bundle holds, so that CAs can be compared by pointer.
func (c *inspection) certificatesIn(path string) []*x509.Certificate {
	path = c.tree.Resolve(path)
	if known, ok := c.parsed[path]; ok {
		return known
	}
	var all []*x509.Certificate
	if f := c.tree.Exact(path); f != nil {
		for block, rest := pem.Decode(f.Content); block != nil; block, rest = pem.Decode(rest) {
			if block.Type != "CERTIFICATE" {
				continue
			}
			if cert := c.facts.authority(block.Bytes); cert != nil {
				all = append(all, cert)
			} else if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
				all = append(all, cert)
			}
		}
	}
	c.parsed[path] = all
	return all
}

func (f *facts) authority(der []byte) *x509.Certificate {
	for _, signer := range []pki.Signer{pki.CA, pki.EtcdCA, pki.FrontProxyCA} {
		for _, ca := range f.cluster.Public.Trusted(signer) {
			if bytes.Equal(ca.Certificate.Raw, der) {
				return ca.Certificate
			}
		}
	}
	return nil
}

// publicKeys returns the public keys of a file with either halves of key pairs, in DER.
func (c *inspection) publicKeys(path string) (keys [][]byte) {
	f := c.tree.File(path)
	if f == nil {
		return nil
	}
	data := f.Content
	if key, err := private.ParseKey(data); err == nil {
		data = key.PublicPEM()
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		keys = append(keys, block.Bytes)
	}
	return keys
}

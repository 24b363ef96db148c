package judges

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"
)

// kubeconfig adds a kubeconfig and the client certificate that it names or holds. The file has one
// cluster, one user and one context.
func (f facts) kubeconfig(m *Machine, thing string, text []byte) error {
	var config clientcmdapi.Config
	if err := yaml.Unmarshal(text, &config); err != nil {
		return err
	}
	if len(config.Clusters) != 1 || len(config.AuthInfos) != 1 || len(config.Contexts) != 1 {
		return errors.New("not one cluster, one user and one context")
	}
	cluster, user := &config.Clusters[0].Cluster, &config.AuthInfos[0].AuthInfo
	data := user.ClientCertificateData
	if file := m.File(m.linkTarget(user.ClientCertificate)); file != nil {
		data = file.Content
	} else if user.ClientCertificate != "" {
		return fmt.Errorf("%s is absent", user.ClientCertificate)
	}
	if len(data) > 0 {
		cert, err := firstCertificate(data)
		if err != nil {
			return err
		}
		f.certificate(thing, "client ", cert)
	}

	f.set(thing, "current-context", config.CurrentContext)
	f.set(thing, "context name", config.Contexts[0].Name)
	f.set(thing, "cluster name", config.Clusters[0].Name)
	f.set(thing, "user name", config.AuthInfos[0].Name)
	embedded(&cluster.CertificateAuthority, cluster.CertificateAuthorityData)
	embedded(&user.ClientCertificate, user.ClientCertificateData)
	embedded(&user.ClientKey, user.ClientKeyData)
	cluster.CertificateAuthorityData, user.ClientCertificateData, user.ClientKeyData = nil, nil, nil
	for _, part := range []any{cluster, user, &config.Contexts[0].Context} {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(part)
		if err != nil {
			return err
		}
		f.flatten(thing, "", fields)
	}
	return nil
}

// embedded says so of what a kubeconfig holds itself instead of naming a file.
func embedded(file *string, data []byte) {
	if len(data) > 0 {
		*file = "embedded"
	}
}

// certificate adds what a certificate says.
func (f facts) certificate(thing, prefix string, cert *x509.Certificate) {
	set := func(field string, value any) { f.set(thing, prefix+field, value) }
	set("CN", cert.Subject.CommonName)
	set("issuer", cert.Issuer.CommonName)
	set("CA", cert.IsCA)
	set("key", keyAlgorithm(cert.PublicKey))
	set("days", int(cert.NotAfter.Sub(cert.NotBefore).Hours())/24)
	if len(cert.Subject.Organization) > 0 {
		set("O", strings.Join(cert.Subject.Organization, ","))
	}
	for bit, name := range certKeyUsages {
		if cert.KeyUsage&(1<<bit) != 0 {
			set("key usage "+name, "yes")
		}
	}
	for _, usage := range cert.ExtKeyUsage {
		set("usage "+certExtKeyUsages[usage], "yes")
	}
	for _, name := range cert.DNSNames {
		set("SAN "+name, "yes")
	}
	for _, address := range cert.IPAddresses {
		addr, _ := netip.AddrFromSlice(address)
		set("SAN "+addr.Unmap().String(), "yes")
	}
}

// certKeyUsages names the bits of x509.KeyUsage.
var certKeyUsages = []string{
	"digitalSignature", "contentCommitment", "keyEncipherment", "dataEncipherment", "keyAgreement",
	"certSign", "crlSign", "encipherOnly", "decipherOnly",
}

var certExtKeyUsages = map[x509.ExtKeyUsage]string{
	x509.ExtKeyUsageAny: "any", x509.ExtKeyUsageServerAuth: "serverAuth",
	x509.ExtKeyUsageClientAuth: "clientAuth",
}

func keyAlgorithm(key any) string {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA-%d", key.N.BitLen())
	case *ecdsa.PublicKey:
		return "ECDSA-" + strings.ReplaceAll(key.Params().Name, "-", "")
	}
	return fmt.Sprintf("%T", key)
}

// firstCertificate reads the first certificate of a PEM file.
func firstCertificate(text []byte) (*x509.Certificate, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			return x509.ParseCertificate(block.Bytes)
		}
	}
	return nil, errors.New("no certificate")
}

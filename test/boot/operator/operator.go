// Package operator connects to the API servers of a cluster under test as the operator does.
package operator

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// TLS returns what a client needs, from files in PEM: the cluster's CA, and the client's
// certificate and key. It verifies a name that every API server's certificate has.
func TLS(ca, cert, key string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", ca)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, RootCAs: pool,
		ServerName: "kubernetes",
	}, nil
}

// This file makes the TLS certificate of kiln serve.

package serve

import (
	"crypto/tls"
	"errors"
	"net/netip"
	"slices"
	"time"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/plan"
)

// spare is the time that a certificate is valid after the window, because a machine's clock may be
// ahead. The time before the window, for a clock that is behind, is up to pki.
const spare = 24 * time.Hour

// TLS returns the configuration of a server that machines reach by these names and addresses. The
// cluster's own CA issues the certificate. It is derived from the bundle, so that it is stored
// nowhere, and valid until shortly after the window. TLS fails if the bundle cannot issue it.
func TLS(b *pki.Bundle, names []string, until time.Time) (*tls.Config, error) {
	if b.Lacks(pki.CA) {
		return nil, errors.New("the key of the cluster's CA is not in the bundle, so that nobody " +
			"signs a certificate for this server; serve plain HTTP on loopback, behind a server " +
			"that has a certificate (docs/delivery.md)")
	}
	var known plan.Names
	for _, name := range names {
		if addr, err := netip.ParseAddr(name); err == nil {
			known.IPs = append(known.IPs, addr)
		} else {
			known.DNS = append(known.DNS, name)
		}
	}
	slices.Sort(known.DNS)
	slices.SortFunc(known.IPs, netip.Addr.Compare)
	known.DNS, known.IPs = slices.Compact(known.DNS), slices.Compact(known.IPs)
	end := until.Add(spare).UTC().Truncate(time.Second)
	if last := b.Authority(pki.CA).Certificate.NotAfter; end.After(last) {
		end = last
	}
	cert, err := b.Issue(b.ServeSpec(known, end))
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert.CertPEM(), cert.Key.PEM())
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"http/1.1"},
	}, nil
}

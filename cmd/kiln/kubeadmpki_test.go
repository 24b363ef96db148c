package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// kubeadmpki DIR makes the CAs and keys that kubeadm makes in its folder pki. The CA of the cluster
// is signed by one of a company, whose root is the last certificate in ca.crt. sa.pub has an
// earlier key too.
func kubeadmpki(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: kubeadmpki dir")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Join(dir, "etcd"), 0o700))
	write := func(name string, mode os.FileMode, kind string, der []byte, more ...byte) {
		block := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
		ts.Check(os.WriteFile(filepath.Join(dir, name), append(block, more...), mode))
	}
	key := func() crypto.Signer {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		ts.Check(err)
		return k
	}
	authority := func(
		name string, own crypto.Signer, parent *x509.Certificate, signer crypto.Signer,
	) *x509.Certificate {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(5, 0, 0),
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		}
		if parent == nil {
			parent = template
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, own.Public(), signer)
		ts.Check(err)
		c, err := x509.ParseCertificate(der)
		ts.Check(err)
		return c
	}
	company := key()
	root := authority("root", company, nil, company)
	middle := key()
	between := authority("middle", middle, root, company)
	for name, cn := range map[string]string{
		"ca": "kubernetes", "etcd/ca": "etcd-ca", "front-proxy-ca": "front-proxy-ca",
	} {
		own := key()
		signer, parent, chain := own, (*x509.Certificate)(nil), []byte(nil)
		if name == "ca" {
			signer, parent = middle, between
			for _, c := range []*x509.Certificate{between, root} {
				chain = append(chain,
					pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
			}
		}
		write(name+".crt", 0o644, "CERTIFICATE", authority(cn, own, parent, signer).Raw, chain...)
		der, err := x509.MarshalPKCS8PrivateKey(own)
		ts.Check(err)
		write(name+".key", 0o600, "PRIVATE KEY", der)
	}
	account := key()
	der, err := x509.MarshalPKCS8PrivateKey(account)
	ts.Check(err)
	write("sa.key", 0o600, "PRIVATE KEY", der)
	now, err := x509.MarshalPKIXPublicKey(account.Public())
	ts.Check(err)
	earlier, err := x509.MarshalPKIXPublicKey(key().Public())
	ts.Check(err)
	write("sa.pub", 0o644, "PUBLIC KEY", now,
		pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: earlier})...)
}

// This file reads the CAs and keys that people bring along: those of a cluster that runs, or of
// their company. It turns the contents of files into the roots of a new bundle, or says what is
// wrong with each file: all of it at once. It reads no file itself, and no error quotes a key.

package foreign

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
)

// GivenFile is a file as it was read. Its path names it in messages. A file that nobody named has
// no path.
type GivenFile struct {
	Path string
	Data private.Secret
}

// Files are all files that a bundle can be made from.
type Files struct {
	// Certificates and Keys are those of the CAs. The key of a CA without one is elsewhere.
	Certificates, Keys map[pki.Signer]GivenFile
	// ServiceAccountKey is the key of service account tokens, and ServiceAccountPublic the public
	// keys that the API servers accept.
	ServiceAccountKey, ServiceAccountPublic GivenFile
	// Encryption is an EncryptionConfiguration of the API server.
	Encryption GivenFile
}

// Times are the dates that the certificates have to reach.
type Times struct {
	Now    time.Time
	Leaves time.Time // until when leaf certificates are to be valid
}

// reader collects the mistakes in all files.
type reader struct {
	Times
	errs []error
}

// fail adds a mistake in a file.
func (r *reader) fail(f GivenFile, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s: "+format, append([]any{f.Path}, args...)...))
}

// Signers are the CAs, in the order in which messages name them.
var Signers = []pki.Signer{pki.CA, pki.EtcdCA, pki.FrontProxyCA}

// Read returns the roots that the files hold. A CA whose certificate and key both have no path is
// not among them. Otherwise it returns an error for each mistake in each file.
func Read(files Files, times Times) (pki.Given, error) {
	r := &reader{Times: times}
	given := pki.Given{Authorities: map[pki.Signer]pki.Pair{}}
	owners := keyOwners{}
	for _, signer := range Signers {
		certificate, key := files.Certificates[signer], files.Keys[signer]
		if certificate.Path == "" && key.Path == "" {
			continue
		}
		authority := r.authority(certificate)
		if key.Path == "" {
			if authority.Certificate != nil {
				r.unique(owners, certificate, authority.Certificate.PublicKey)
				given.Authorities[signer] = pki.Pair{Authority: authority}
			}
			continue
		}
		secret, ok := r.key(key)
		if ok {
			r.unique(owners, key, secret.Public())
		}
		if authority.Certificate == nil || !ok {
			continue
		}
		if !secret.Fits(authority.Certificate.PublicKey) {
			r.fail(key, "this is not the key of the CA in %s; name the two files of one CA",
				certificate.Path)
		}
		given.Authorities[signer] = pki.Pair{Authority: authority, Key: secret}
	}
	if files.ServiceAccountKey.Path != "" {
		if key, ok := r.key(files.ServiceAccountKey); ok {
			r.unique(owners, files.ServiceAccountKey, key.Public())
			given.ServiceAccountKey = &key
			given.Imported.Accepted = r.accepted(files.ServiceAccountPublic, &key)
		}
	}
	if files.Encryption.Path != "" {
		r.encryption(files.Encryption, &given)
	}
	return given, errors.Join(r.errs...)
}

// keyOwners has the file of each public key.
type keyOwners map[string]string

// unique adds a mistake if another file has the same key. One key for two CAs would let each of
// them speak for the other: a client of etcd would be a user of the cluster.
func (r *reader) unique(owners keyOwners, f GivenFile, key crypto.PublicKey) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return // r has said what is wrong with the key
	}
	public := string(der)
	if first := owners[public]; first != "" {
		r.fail(f, "the same key as %s; what the one signs, the other one would have signed too: "+
			"each needs a key of its own", first)
		return
	}
	owners[public] = f.Path
}

// key reads a private key.
func (r *reader) key(f GivenFile) (private.Key, bool) {
	data := []byte(f.Data)
	// openssl ecparam -genkey writes the curve's name into a block before the key.
	if block, rest := pem.Decode(data); block != nil && block.Type == "EC PARAMETERS" {
		data = rest
	}
	block, rest := pem.Decode(data)
	second, _ := pem.Decode(rest)
	switch {
	case block == nil:
		r.fail(f, "no PEM block; want a private key in PEM")
	case block.Type == "CERTIFICATE":
		r.fail(f, "a certificate; want the private key that belongs to it")
	case block.Type == "PUBLIC KEY" || block.Type == "RSA PUBLIC KEY":
		r.fail(f, "a public key; want the private key")
	case block.Headers["Proc-Type"] != "" || block.Type == "ENCRYPTED PRIVATE KEY":
		r.fail(f, "the key is encrypted with a passphrase; "+
			"give it without, through a pipe if you like: <(openssl pkey -in %s)", f.Path)
	case second != nil:
		r.fail(f, "several PEM blocks: %s and %s; want the one private key", block.Type,
			second.Type)
	default:
		key, err := private.ParseKey(pem.EncodeToMemory(block))
		if err != nil {
			r.fail(f, "%s; want ECDSA P-256 or P-384, or RSA with 2048 bits or more", err)
			return key, false
		}
		return key, true
	}
	return private.Key{}, false
}

// accepted returns the public keys in the file beside that of key, in PEM. The file may have no
// path: then there are none.
func (r *reader) accepted(f GivenFile, key *private.Key) (others []byte) {
	if f.Path == "" {
		return nil
	}
	found := false
	rest := []byte(f.Data)
	for len(bytes.TrimSpace(rest)) > 0 {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		public := publicKey(block)
		if public == nil {
			r.fail(f, "the PEM block %s is not a public key that API servers accept; want blocks "+
				"PUBLIC KEY", block.Type)
			return nil
		}
		if key.Fits(public) {
			found = true
			continue
		}
		der, err := x509.MarshalPKIXPublicKey(public)
		if err != nil || weakness(public) != "" {
			r.fail(f, "a public key is %s; want RSA with 2048 bits or more, or ECDSA",
				weakness(public))
			return nil
		}
		others = append(others, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})...)
	}
	if !found {
		r.fail(f, "does not have the public key of the service account key, so that API servers "+
			"would refuse its tokens; want the two files of one cluster")
	}
	return others
}

// publicKey returns the public key in a block that an API server accepts for tokens; nil if there
// is none.
func publicKey(block *pem.Block) crypto.PublicKey {
	var key any
	var err error
	switch block.Type {
	case "PUBLIC KEY":
		key, err = x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		key, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		var c *x509.Certificate
		if c, err = x509.ParseCertificate(block.Bytes); err == nil {
			key = c.PublicKey
		}
	default:
		return nil
	}
	if err != nil {
		return nil
	}
	return key
}

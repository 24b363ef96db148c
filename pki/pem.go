package pki

import "encoding/pem"

// PlainPEM returns the certificates of a file in PEM, without the headers and comments that tools
// write, and without anything else that the file has. It is empty if there is none.
func PlainPEM(file []byte) (certificates []byte) {
	for block, rest := pem.Decode(file); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			plain := &pem.Block{Type: block.Type, Bytes: block.Bytes}
			certificates = append(certificates, pem.EncodeToMemory(plain)...)
		}
	}
	return certificates
}

// TrustedCA returns the certificates, in PEM, of the CA that a machine trusts where it fetches
// something: those of the file, or the cluster's if ca is "cluster". It is empty if the machine
// trusts those of its system.
func (p *Public) TrustedCA(ca string, file []byte) []byte {
	if ca == "cluster" {
		return p.TrustPEM(CA)
	}
	return PlainPEM(file)
}

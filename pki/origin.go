// This file holds what a bundle knows of a cluster that ran before it had the bundle, and the
// form in which a bundle keeps that.

package pki

import (
	"bytes"
	"encoding/pem"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Imported is the life that a cluster had before its bundle. A cluster that kiln formed has the
// zero value.
type Imported struct {
	At time.Time // when the bundle was made from the keys of a cluster that was running
	// Provider and Name are those of the first encryption key: what is stored in etcd begins with
	// both. They are empty if the key is kiln's own.
	Provider, Name string
	// Accepted holds the public keys, in PEM, of earlier service account keys. API servers accept
	// their tokens until the first service account key is dropped.
	Accepted []byte
}

// File is Imported as a bundle and its public half have it.
type File struct {
	At                 string `json:"at"`
	EncryptionProvider string `json:"encryptionProvider,omitempty"`
	EncryptionName     string `json:"encryptionName,omitempty"`
	ServiceAccounts    string `json:"serviceAccounts,omitempty"`
}

// OwnProvider is the provider of the encryption keys that kiln draws.
const OwnProvider = "secretbox"

// Providers are the providers of an EncryptionConfiguration whose keys a bundle takes.
func Providers() []string { return []string{OwnProvider, "aescbc", "aesgcm"} }

// ownName matches the names that kiln gives to encryption keys of later generations.
var ownName = regexp.MustCompile(`^g[0-9]+$`)

// NameProblem returns what keeps the name of an encryption key out of a bundle, or "".
func NameProblem(name string) string {
	switch {
	case name == "" || strings.ContainsAny(name, ": \t\r\n"):
		return "is no name that API servers accept"
	case ownName.MatchString(name) && name != "g1":
		return "is what kiln calls a later key of its own"
	}
	return ""
}

// File returns i as a bundle has it; nil if kiln formed the cluster.
func (i *Imported) File() *File {
	if i.At.IsZero() {
		return nil
	}
	return &File{At: i.At.Format(time.RFC3339), EncryptionProvider: i.Provider,
		EncryptionName: i.Name, ServiceAccounts: string(i.Accepted)}
}

// Imported checks the stored form and returns its values. It calls fail for each mistake.
func (f *File) Imported(fail func(string, ...any)) (i Imported) {
	const damaged = "restore the bundle from a copy"
	if f == nil {
		return i
	}
	at, err := time.Parse(time.RFC3339, f.At)
	if err != nil || at.IsZero() {
		fail("imported: at: not a time such as 2026-01-31T12:00:00Z")
	}
	i = Imported{At: at.UTC(), Provider: f.EncryptionProvider, Name: f.EncryptionName}
	if i.Provider+i.Name != "" {
		if !slices.Contains(Providers(), i.Provider) {
			fail("imported: encryptionProvider: want %s; "+damaged,
				strings.Join(Providers(), ", "))
		}
		if problem := NameProblem(i.Name); problem != "" {
			fail("imported: encryptionName: it %s; "+damaged, problem)
		}
	}
	rest := []byte(f.ServiceAccounts)
	for len(bytes.TrimSpace(rest)) > 0 {
		block, after := pem.Decode(rest)
		if block == nil || block.Type != "PUBLIC KEY" {
			fail("imported: serviceAccounts: want PEM blocks PUBLIC KEY; " + damaged)
			break
		}
		i.Accepted, rest = append(i.Accepted, pem.EncodeToMemory(block)...), after
	}
	return i
}

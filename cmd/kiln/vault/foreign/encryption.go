package foreign

import (
	"encoding/base64"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render/text/yamltext"
)

// encryptionFile is an EncryptionConfiguration of the API server, version v1.
type encryptionFile struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Resources  []encryptionRule `json:"resources"`
}

// encryptionRule says how some resources are stored: the first provider writes, and all read.
type encryptionRule struct {
	Resources []string              `json:"resources"`
	Providers []map[string]provider `json:"providers"`
}

// provider is one way to store resources. That of identity has no keys.
type provider struct {
	Keys []encryptionKey `json:"keys,omitempty"`
}

type encryptionKey struct {
	Name   string `json:"name"`
	Secret string `json:"secret"`
}

// encryption takes the key of an EncryptionConfiguration: the one key of Secrets, beside identity.
func (r *reader) encryption(f GivenFile, given *pki.Given) {
	var file encryptionFile
	err := yamltext.Object.Check(f.Data)
	if err == nil {
		err = yaml.UnmarshalStrict(f.Data, &file)
	}
	// The decoder's own text may quote a key.
	if err != nil || file.Kind != "EncryptionConfiguration" ||
		file.APIVersion != "apiserver.config.k8s.io/v1" {
		r.fail(f, "not an EncryptionConfiguration of apiserver.config.k8s.io/v1 with the "+
			"providers identity, %s; a key of a KMS stays with it, and kiln has no use for it",
			strings.Join(pki.Providers(), ", "))
		return
	}
	if len(file.Resources) != 1 || !slices.Equal(file.Resources[0].Resources, []string{"secrets"}) {
		r.fail(f, "it encrypts other resources than secrets, which kiln's API servers do not; "+
			"store those in the clear first (identity before the key, and write them all again)")
		return
	}
	count := 0
	for _, entry := range file.Resources[0].Providers {
		for kind, p := range entry {
			switch {
			case kind == "identity":
			case !slices.Contains(pki.Providers(), kind):
				r.fail(f, "provider %q; want %s or identity", kind,
					strings.Join(pki.Providers(), ", "))
			default:
				for _, key := range p.Keys {
					count++
					r.encryptionKey(f, kind, key, given)
				}
			}
		}
	}
	if count != 1 {
		r.fail(f, "%d keys; want the one that writes: write all Secrets with it, take the others "+
			"out, and import then. Without a key there is nothing to import: leave the flag out",
			count)
	}
}

func (r *reader) encryptionKey(f GivenFile, kind string, key encryptionKey, given *pki.Given) {
	raw, err := base64.StdEncoding.DecodeString(key.Secret)
	switch {
	case err != nil || len(raw) != private.SecretBytes:
		r.fail(f, "the key of %s is not one of %d bytes in base64; turn the cluster over to a new "+
			"key first", kind, private.SecretBytes)
	case pki.NameProblem(key.Name) != "":
		r.fail(f, "the name of the key %s; turn the cluster over to a key with another name first",
			pki.NameProblem(key.Name))
	default:
		given.EncryptionKey = raw
		given.Imported.Provider, given.Imported.Name = kind, key.Name
	}
}

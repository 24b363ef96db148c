package foreign

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/text/wording"
)

// importReport is what kiln secrets import has done.
type importReport struct {
	Bundle   string   `json:"bundle"`
	Cluster  string   `json:"cluster"`
	Imported bool     `json:"imported"` // the cluster runs, and is not to be formed
	Roots    []origin `json:"roots"`
	// clear reports whether the Secrets of the cluster are in the clear.
	clear bool
	// external reports whether the key of a CA is elsewhere.
	external bool
}

// origin is a root of the bundle, and where it comes from.
type origin struct {
	Name   pki.Root   `json:"name"`
	File   string     `json:"file,omitempty"` // none if it is new
	Ends   *time.Time `json:"ends,omitempty"`
	Detail string     `json:"detail"`
	// External reports whether the key of the CA is elsewhere.
	External bool `json:"external,omitempty"`
}

func newReport(b *vault.File, c *config.Cluster, files Files) *importReport {
	r := &importReport{Bundle: b.Path, Cluster: b.Cluster, Imported: b.WasImported(),
		clear:    c.Spec.Security.Encryption == "identity",
		external: len(b.External.Roots) > 0}
	for _, signer := range Signers {
		ca := b.Authority(signer)
		end := ca.Certificate.NotAfter.UTC()
		detail := fmt.Sprintf("SHA-256 %s, until %s", pki.Fingerprint(ca.Certificate),
			end.Format(time.DateOnly))
		if b.Lacks(signer) {
			detail += ", its key is elsewhere"
		}
		if n := len(ca.Chain); n > 0 {
			detail += fmt.Sprintf(", with %s above it", wording.Count(n, "CA"))
		}
		r.Roots = append(r.Roots,
			origin{signer.Root(), files.Certificates[signer].Path, &end, detail,
				b.Lacks(signer)})
	}
	tokens := "signs the tokens of service accounts"
	if n := bytes.Count(b.AcceptedKeys(), []byte("-----BEGIN")); n > 0 {
		tokens += fmt.Sprintf("; those of %s are accepted too", wording.Count(n, "earlier key"))
	}
	k := b.EncryptionKeys()[0]
	r.Roots = append(r.Roots,
		origin{pki.RootServiceAccount, files.ServiceAccountKey.Path, nil, tokens, false},
		origin{pki.RootEncryption, files.Encryption.Path, nil,
			fmt.Sprintf("the key %s of %s for Secrets in etcd", k.Name, k.Provider), false},
		origin{pki.RootLeafSeed, "", nil,
			"every certificate of a rendered machine has a new key", false})
	return r
}

func (r *importReport) print(w io.Writer, path string) {
	for _, root := range r.Roots {
		from := root.File
		if from == "" {
			from = "new"
		}
		term.Printf(w, "%-16s %s: %s\n", root.Name, from, root.Detail)
	}
	next := "next: kiln render --config " + path + " --out ./nodes"
	switch {
	case r.external:
		next = "next: kiln certs csr " + path + " --out ./requests (docs/external-ca.md)"
	case r.Imported:
		next = "next, step by step: docs/import.md"
	}
	if r.Imported {
		term.Printf(w, "The machines join the cluster that runs, and never form one. Its "+
			"objects (CoreDNS, kube-proxy) stay as they are.\n"+
			"Tokens of kubeadm go on; pools get new ones.\n")
	}
	if r.Imported && r.clear {
		term.Printf(w, "Secrets stay in the clear. When every control plane is replaced, write "+
			"encryption: secretbox, replace them once more, and write all Secrets again.\n")
	}
	term.Printf(w, "%s\n", next)
}

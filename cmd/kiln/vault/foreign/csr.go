// Package foreign holds the verbs for CAs and keys that others made: kiln secrets import makes a
// bundle of them, kiln certs csr writes requests for a CA whose key is not in the bundle, and kiln
// certs add takes what it signed. Package request lists what has to be signed, and package external
// says what is wrong with a certificate.
package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/external"
	"kiln.dev/kiln/pki/request"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
)

// csrFlags are the flags of kiln certs csr.
type csrFlags struct {
	config    folder.Input
	bundle    vault.Source
	out, form string
	within    time.Duration
}

// RequestCommand returns the verb that writes requests.
func RequestCommand() *cobra.Command {
	var f csrFlags
	cmd := &cobra.Command{
		Use:   "csr [CONFIG] --out DIR [--within TIME]",
		Short: "Write the requests for CAs whose keys are not in the bundle",
		Long: `Write a certificate signing request (PKCS #10, PEM) for each certificate of a CA
whose key is elsewhere, if nobody has signed it yet, if its names or usages have
changed, or if it has ended. With --within also for those that end within that time.

DIR gets a folder for each CA, with its requests, and two lists of all of them:
requests.txt for people, and requests.json. Each says which CA signs, the subject, the
names, the usages, and how long the certificate is of use. Requests hold no secret:
the private keys are derived from the bundle, and stay there. Requests of an earlier
run that are no longer needed are removed.`,
		Example: `  kiln certs csr prod.yaml --out ./requests
  kiln certs csr prod.yaml --out ./requests --within 60d`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	term.TakeConfig(cmd, &f.config)
	vault.BundleFlags(cmd, &f.bundle)
	cmd.Flags().StringVar(&f.out, "out", "", "write the requests into the folder `DIR`")
	term.DurationFlag(cmd, &f.within, "within", 0,
		"also for certificates that end within this `TIME`, such as 60d or 36h")
	term.OutputFlag(cmd, &f.form, "list of requests")
	return cmd
}

// listFile is the list of a folder of requests, and tableFile the same for people.
const (
	listFile  = "requests.json"
	tableFile = "requests.txt"
)

// requests is the list of a folder of requests.
type requests struct {
	Cluster  string    `json:"cluster"`
	Requests []listing `json:"requests"`
}

// listing is a request in that list.
type listing struct {
	File        string   `json:"file"`
	Machine     string   `json:"machine,omitempty"` // none for the operator's
	Certificate string   `json:"certificate"`
	CA          pki.Root `json:"ca"`
	CASubject   string   `json:"caSubject"`
	CASHA256    string   `json:"caFingerprint"`
	Subject     string   `json:"subject"`
	Names       []string `json:"names"`
	Usages      []string `json:"extendedKeyUsages"`
	// Lifetime is how long the certificate is of use at most; it must not end after the CA.
	Lifetime config.Duration `json:"lifetime"`
	CAEnds   time.Time       `json:"caEnds"`
	Why      string          `json:"why"`
}

func (f *csrFlags) run(cmd *cobra.Command) error {
	if err := term.CheckGiven("out", f.out, "./requests"); err != nil {
		return err
	}
	if f.within < 0 {
		return term.UsageErrorf("--within %s: want a time that is not negative", f.within)
	}
	if err := vault.CheckOutside("out", f.out); err != nil {
		return err
	}
	c, err := render.ConfigPublic(&f.config)
	if err != nil {
		return err
	}
	b, err := checkExternal(f.bundle.OpenFor(f.config.Path, c))
	if err != nil {
		return err
	}
	list, files, err := f.requests(b, plan.New(c), time.Now())
	if err != nil {
		return err
	}
	changes, err := write(f.out, list, files)
	if err != nil {
		return err
	}
	if f.form == "json" {
		return term.Report(cmd.OutOrStdout(), list)
	}
	out := cmd.OutOrStdout()
	for _, name := range changes.Removed {
		term.Printf(out, "removed %s\n", filepath.Join(f.out, name))
	}
	if len(list.Requests) == 0 {
		term.Printf(out, "every certificate is signed; no request is needed\n")
		return nil
	}
	term.Printf(out, "%s", list.table())
	term.Printf(out, "%s in %s; have the CAs sign them, and then: "+
		"kiln certs add --config %s DIR\n",
		wording.Count(len(list.Requests), "request"), f.out, f.config.Path)
	return nil
}

// checkExternal returns a bundle that was opened. It returns an error if that failed, or if the
// bundle has the keys of all CAs.
func checkExternal(b *vault.File, err error) (*vault.File, error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; kiln secrets import --external-ca makes a bundle of CAs whose "+
			"keys are elsewhere (docs/external-ca.md)", err)
	case err == nil && len(b.External.Roots) == 0:
		return nil, fmt.Errorf("%s: it has the keys of all CAs: kiln render signs, and nobody "+
			"else has to", b.Path)
	}
	return b, err
}

// requests returns the requests that are needed at the time now: the list, and each in PEM by its
// file.
func (f *csrFlags) requests(
	b *vault.File, p *plan.Plan, now time.Time,
) (*requests, map[string][]byte, error) {
	list, files := &requests{Cluster: b.Name, Requests: []listing{}}, map[string][]byte{}
	all := request.Cluster{Public: &b.Public, Bundle: b.Bundle, Plan: p, Now: now}
	for _, c := range all.List() {
		why := c.Lack(f.within)
		if why == "" {
			continue
		}
		data, err := c.PEM(b.Bundle)
		if err != nil {
			return nil, nil, err
		}
		l := newListing(&c, why)
		files[l.File] = data
		list.Requests = append(list.Requests, l)
	}
	return list, files, nil
}

func newListing(c *request.Certificate, why string) listing {
	root, leaf, ca := c.Signer.Root(), c.Wanted.Leaf, c.Wanted.CA
	l := listing{
		File: string(root) + "/", Machine: c.Machine, Certificate: c.Base,
		CA: root, CASubject: wording.Visible(ca.Subject.String(), ""),
		CASHA256: pki.Fingerprint(ca),
		Subject:  leaf.Subject.String(), Names: term.NonNil(slices.Clone(leaf.DNSNames)),
		Usages: external.Usages(leaf), Lifetime: config.Duration(c.Lifetime),
		CAEnds: ca.NotAfter.UTC(), Why: why,
	}
	if c.Machine != "" {
		l.File += c.Machine + "."
	}
	l.File += c.Base + ".csr"
	for _, ip := range leaf.IPAddresses {
		l.Names = append(l.Names, ip.String())
	}
	return l
}

// table returns the list for people.
func (r *requests) table() []byte {
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	term.Printf(table, "REQUEST\tSIGNED BY\tSUBJECT\tFOR\tAT MOST\tBECAUSE\tNAMES\n")
	for i := range r.Requests {
		l := &r.Requests[i]
		term.Printf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.File, l.CASubject, l.Subject,
			strings.Join(append([]string{"digitalSignature"}, l.Usages...), ","), l.atMost(), l.Why,
			strings.Join(l.Names, ","))
	}
	_ = table.Flush() // a buffer takes everything
	return out.Bytes()
}

// atMost says how long the certificate is of use, in days where that is exact enough.
func (l *listing) atMost() string {
	if days := time.Duration(l.Lifetime).Hours() / 24; days >= 1 {
		return wording.Count(int(days), "day")
	}
	return l.Lifetime.String()
}

// write writes the requests with their lists into the folder dir, and removes those of an earlier
// run.
func write(dir string, list *requests, files map[string][]byte) (*render.Changes, error) {
	var text bytes.Buffer
	if err := term.JSON(&text, list); err != nil {
		return nil, err
	}
	files[listFile], files[tableFile] = text.Bytes(), list.table()
	return render.WriteFiles(render.Files{
		Dir: dir, List: listFile,
		Listed: func(old []byte) ([]string, error) { return listedFiles(dir, list.Cluster, old) },
		Makes:  made,
		Files:  outputs(files),
	})
}

// listedFiles returns the files that an older list names. It fails if kiln certs csr did not write
// it, or wrote it for another cluster.
func listedFiles(dir, cluster string, data []byte) (names []string, err error) {
	var old requests
	if json.Unmarshal(data, &old) != nil || old.Cluster == "" {
		return nil, fmt.Errorf("%s: not written by kiln certs csr; name another folder with --out",
			filepath.Join(dir, listFile))
	}
	for _, l := range old.Requests {
		if made(l.File) {
			names = append(names, l.File)
		}
	}
	names = append(names, tableFile)
	if old.Cluster != cluster {
		return names, fmt.Errorf("%s: %w: %s, and this is %s; name another folder with --out",
			dir, render.ErrForeign, old.Cluster, cluster)
	}
	return names, nil
}

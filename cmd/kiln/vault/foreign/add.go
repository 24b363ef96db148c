package foreign

import (
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/request"
	"kiln.dev/kiln/pki/root"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
)

// addFlags are the flags of kiln certs add.
type addFlags struct {
	config folder.Input
	bundle vault.Source
	form   string
}

// AddCommand returns the verb that takes signed certificates.
func AddCommand() *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use:   "add FILE|DIR... [--config CONFIG]",
		Short: "Store certificates that a CA has signed elsewhere",
		Long: `Check certificates that were signed for the requests of kiln certs csr, and store
them in the bundle. Each has to be for a key that the bundle derives, signed by the CA
of the bundle, with the subject, names and usages that the configuration wants, and
valid now. If one is refused, nothing is stored; all mistakes come at once.

The names of files do not matter: kiln finds by the key what a certificate is for. In a
folder these are the files that end in .crt, .pem or .cer, also in folders below it. A
file may have several certificates; those of the CAs themselves are left out.

Certificates that the configuration no longer wants are removed from the bundle.`,
		Example: `  kiln certs add ./signed
  kiln certs add --config prod.yaml cp-1.apiserver.crt cp-1.scheduler.crt`,
		Args: term.TakeArgs(1, 0, "a FILE or folder", "kiln certs add ./signed"),
		RunE: func(cmd *cobra.Command, list []string) error {
			if slices.Contains(list, "") {
				return term.UsageErrorf("the name of a file is empty; is a variable unset?")
			}
			if err := term.FindConfig(cmd, &f.config); err != nil {
				return err
			}
			return f.run(cmd, list)
		},
	}
	term.ConfigFlag(cmd, &f.config)
	vault.ChangeBundleFlags(cmd, &f.bundle)
	term.OutputFlag(cmd, &f.form, "report")
	return cmd
}

// added is the report of kiln certs add.
type added struct {
	Bundle    string   `json:"bundle"`
	Added     []stored `json:"added"`
	Unchanged int      `json:"unchanged"`
	Kept      []stored `json:"kept"`    // instead of what was given, because it ends later
	LeftOut   int      `json:"leftOut"` // CAs, and credentials for a first boot that is over
	Removed   []string `json:"removed"` // what the configuration no longer wants
	Missing   []string `json:"missing"` // what is still to be signed
}

// stored is a certificate that was added.
type stored struct {
	Machine     string    `json:"machine,omitempty"`
	Certificate string    `json:"certificate"`
	Ends        time.Time `json:"ends"`

	of, instead string
}

func (f *addFlags) run(cmd *cobra.Command, paths []string) error {
	c, err := render.ConfigPublic(&f.config)
	if err != nil {
		return err
	}
	b, err := checkExternal(f.bundle.ToChange(f.config.Path, c, "add"))
	if err != nil {
		return err
	}
	blocks, errs := readAll(paths)
	t := newTaker(&request.Cluster{
		Public: &b.Public, Bundle: b.Bundle, Plan: plan.New(c), Now: time.Now(),
	})
	for i := range blocks {
		t.take(&blocks[i])
	}
	if t.bare > 1 {
		t.errs = append(t.errs, fmt.Errorf("%d certificates have none of the names of their "+
			"requests: the CA has to copy the extensions of a request (openssl x509 "+
			"-copy_extensions copy)", t.bare))
	}
	if err := errors.Join(append(errs, t.errs...)...); err != nil {
		return err
	}
	report := t.store()
	report.Bundle = b.Path
	if len(report.Added)+len(report.Removed) > 0 {
		if err := b.Replace(); err != nil {
			return err
		}
	}
	term.Notes(cmd.ErrOrStderr(), b.StaleNotes(f.config.Path))
	if f.form == "json" {
		return term.Report(cmd.OutOrStdout(), report)
	}
	report.print(cmd, f.config.Path)
	return nil
}

// taker takes certificates for what is wanted.
type taker struct {
	bundle *pki.Bundle
	now    time.Time
	wanted []request.Certificate
	byKey  map[string]*request.Certificate // by the public key
	cas    map[string]bool                 // what is left out: the CAs of the bundle, in DER
	late   map[string]bool                 // keys, and marks, for a first boot that is over
	bare   int                             // how many certificates have no names at all
	out    int                             // how many certificates were left out
	given  map[*request.Certificate]*taken
	errs   []error
}

// taken is a certificate that will be stored, and its file.
type taken struct {
	cert *x509.Certificate
	from string
}

func newTaker(cluster *request.Cluster) *taker {
	b, wanted := cluster.Bundle, cluster.List()
	t := &taker{bundle: b, now: cluster.Now, wanted: wanted,
		byKey: map[string]*request.Certificate{}, cas: map[string]bool{}, late: map[string]bool{},
		given: map[*request.Certificate]*taken{}}
	for i := range wanted {
		t.byKey[string(b.LeafKey(wanted[i].Name).PublicDER())] = &wanted[i]
	}
	for i := range cluster.Plan.Machines {
		spec := pki.Spec{Name: pki.InstallBase + "/" + cluster.Plan.Machines[i].Name}
		key := string(b.LeafKey(spec.Name).PublicDER())
		if t.byKey[key] == nil && b.Lacks(pki.CA) {
			t.late[key], t.late[b.SignedMark(spec)] = true, true
		}
	}
	for _, signer := range Signers {
		for _, c := range b.Authority(signer).All() {
			t.cas[string(c.Raw)] = true
		}
	}
	return t
}

// take takes a certificate, or adds an error for each reason not to.
func (t *taker) take(b *block) {
	fail := func(format string, args ...any) {
		t.errs = append(t.errs, fmt.Errorf("%s: "+format, append([]any{b.from}, args...)...))
	}
	c, err := x509.ParseCertificate(b.der)
	if err != nil {
		fail("a certificate that cannot be read; want X.509 in PEM")
		return
	}
	subject := wording.Visible(c.Subject.String(), "")
	if huge := root.Huge(c.PublicKey); huge != "" {
		fail("%s: its key is %s", subject, huge)
		return
	}
	if t.cas[string(c.Raw)] || t.above(c) {
		t.out++
		return
	}
	der, err := x509.MarshalPKIXPublicKey(c.PublicKey)
	w := t.byKey[string(der)]
	switch {
	case c.IsCA:
		fail("%s: a CA; kiln certs add takes the certificates of machines, and kiln secrets "+
			"import those of CAs", subject)
		return
	case err == nil && t.late[string(der)]:
		t.out++
		return
	case err != nil || w == nil:
		fail("%s: its key is none that this configuration has a request for; have a request of "+
			"kiln certs csr signed, for this bundle and its present generations. If its machine "+
			"was removed, take the file away", subject)
		return
	}
	if !root.Signed(w.Wanted.CA, c) {
		fail("%s: its request is %s: the CA of that folder has to sign it", w.Of(),
			newListing(w, "").File)
	}
	if len(c.DNSNames)+len(c.IPAddresses) == 0 &&
		len(w.Wanted.Leaf.DNSNames)+len(w.Wanted.Leaf.IPAddresses) > 0 {
		t.bare++
	}
	for _, fault := range w.Wanted.Faults(c, t.now) {
		fail("%s: %s", w.Of(), fault)
	}
	if first := t.given[w]; first != nil && !first.cert.Equal(c) {
		fail("%s: %s has another certificate for the same key; give one of them", w.Of(),
			first.from)
		return
	}
	t.given[w] = &taken{c, b.from}
}

// above reports whether c signed a CA of the bundle, or the last one of its chain: a root, which
// the import left out.
func (t *taker) above(c *x509.Certificate) bool {
	if !c.IsCA {
		return false
	}
	for _, signer := range Signers {
		all := t.bundle.Authority(signer).All()
		if root.SignedCA(c, all[len(all)-1]) {
			return true
		}
	}
	return false
}

// store stores what was taken in the bundle, without writing it, and removes what is not wanted.
func (t *taker) store() *added {
	r := &added{Added: []stored{}, Kept: []stored{}, Removed: []string{}, Missing: []string{},
		LeftOut: t.out}
	old := t.bundle.External.Certificates
	all := map[string]*x509.Certificate{}
	for i := range t.wanted {
		w := &t.wanted[i]
		mark := w.Mark()
		given := t.given[w]
		switch {
		case given == nil && old[mark] != nil:
			all[mark] = old[mark]
		case given == nil:
		case old[mark] != nil && old[mark].Equal(given.cert):
			all[mark] = old[mark]
			r.Unchanged++
		case w.Lack(0) == "" && old[mark].NotAfter.After(given.cert.NotAfter):
			all[mark] = old[mark]
			r.Kept = append(r.Kept, stored{w.Machine, w.Base, old[mark].NotAfter.UTC(), w.Of(),
				fmt.Sprintf("%s has one that ends on %s", given.from,
					given.cert.NotAfter.UTC().Format(time.DateOnly))})
		default:
			all[mark] = given.cert
			r.Added = append(r.Added,
				stored{w.Machine, w.Base, given.cert.NotAfter.UTC(), w.Of(), ""})
		}
	}
	for _, mark := range slices.Sorted(maps.Keys(old)) {
		if t.late[mark] {
			all[mark] = old[mark] // without it the documents of machines that run would change
		}
		if all[mark] == nil {
			r.Removed = append(r.Removed, mark)
		}
	}
	if len(r.Added)+len(r.Removed) > 0 {
		t.bundle.External.Change(all, t.now)
	}
	for i := range t.wanted {
		if w := &t.wanted[i]; w.Lack(0) != "" {
			r.Missing = append(r.Missing, w.Of())
		}
	}
	return r
}

func (r *added) print(cmd *cobra.Command, config string) {
	out := cmd.OutOrStdout()
	for _, s := range r.Added {
		term.Printf(out, "%s, until %s\n", s.of, s.Ends.Format(time.DateOnly))
	}
	for _, s := range r.Kept {
		term.Printf(out, "kept %s, until %s: %s\n", s.of, s.Ends.Format(time.DateOnly),
			s.instead)
	}
	term.Each(out, "removed %s: the configuration no longer wants it\n", r.Removed)
	if r.LeftOut > 0 {
		term.Printf(out, "left out %s: those of CAs, and credentials for a first boot that is "+
			"over\n", wording.Count(r.LeftOut, "certificate"))
	}
	term.Printf(out, "%s: %s added, %d unchanged, %d to be signed\n", r.Bundle,
		wording.Count(len(r.Added), "certificate"), r.Unchanged, len(r.Missing))
	if len(r.Missing) > 0 {
		term.Printf(out, "still to be signed: %s\n", term.Names(r.Missing))
		return
	}
	term.Printf(out, "next: kiln render --config %s --out ./nodes\n", config)
}

// This file is kiln secrets import: it makes a bundle from the CAs and keys of a cluster that
// runs, or from those of a company. Package foreign says what is wrong with a file, and package pki
// makes the bundle.

package foreign

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/external"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
)

// importFlags holds the flags of kiln secrets import.
type importFlags struct {
	vault.Run
	config folder.Input
	form   string
	// pki is a folder with kubeadm's names, and named has the files that flags name, by the
	// flag.
	pki   string
	named map[string]*string
	// roots are the CAs whose keys are elsewhere.
	roots []string
	// formed reports whether the machines are to form a new cluster.
	formed bool
}

// ImportCommand returns the verb.
func ImportCommand() *cobra.Command {
	f := importFlags{named: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "import [CONFIG] --pki DIR [--encryption-config FILE]",
		Short: "Make the bundle from the CAs and keys of a cluster that runs",
		Long: `Make the bundle of a configuration from CAs and keys that exist: those in the folder
pki of a cluster that kubeadm made, or single files. A bundle is never replaced.

The machines that kiln renders join that cluster, and never form one: etcd, identities,
tokens and Secrets stay. With --new-cluster they form a new one, under CAs of yours, and
what the files do not bring is made new.

A CA may be signed by another one: its file then has the certificates that lead to the
root behind its own. Machines trust the CA alone, and servers send the others.

The key of a CA may stay with somebody else (--external-ca): kiln certs csr then writes
the requests for what that CA has to sign, and kiln certs add takes the certificates.

docs/import.md has the whole way from kubeadm, and docs/external-ca.md that of a CA
whose key is elsewhere.`,
		Example: `  kiln secrets import prod.yaml --pki /etc/kubernetes/pki
  kiln secrets import prod.yaml --pki ./pki --encryption-config enc.yaml
  kiln secrets import prod.yaml --ca company.crt --ca-key company.key --new-cluster
  kiln secrets import prod.yaml --pki ./pki --external-ca ca,etcd-ca`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	term.TakeConfig(cmd, &f.config)
	set := cmd.Flags()
	set.StringVar(&f.Secrets, "secrets", "", "write the bundle into `FILE` (default: "+
		"NAME.secrets.yaml beside the configuration, or NAME.secrets.yaml.age)")
	vault.NewRecipientFlag(cmd, &f.Source)
	set.StringVar(&f.pki, "pki", "", "read the files that kubeadm makes from the folder `DIR`: "+
		"ca, etcd/ca, front-proxy-ca, sa")
	for _, file := range files {
		f.named[file.flag] = set.String(file.flag, "",
			"read "+file.what+" from `FILE` (default: "+file.inside()+")")
	}
	set.StringSliceVar(&f.roots, "external-ca", nil, "import the `CA` ca, etcd-ca or "+
		"front-proxy-ca without its key, which is elsewhere; may be repeated")
	set.BoolVar(&f.formed, "new-cluster", false,
		"let the machines form a new cluster; what no file brings is made new")
	term.OutputFlag(cmd, &f.form, "report")
	return cmd
}

// check returns an error if no flag names a file.
func (f *importFlags) check() error {
	for i, ca := range f.roots {
		ca = strings.TrimSpace(ca) // "ca, etcd-ca"
		f.roots[i] = ca
		switch key := ca + "-key"; {
		case !slices.Contains(external.Roots(), pki.Root(ca)):
			return term.UsageErrorf("--external-ca %s: want ca, etcd-ca or front-proxy-ca", ca)
		case *f.named[key] != "":
			return term.UsageErrorf("--external-ca %s says that the key is elsewhere, and --%s "+
				"names it; leave one of them out", ca, key)
		}
	}
	if f.pki != "" {
		return nil
	}
	for _, file := range files {
		if *f.named[file.flag] != "" {
			return nil
		}
	}
	if f.formed && len(f.roots) > 0 {
		return term.CheckGiven(f.roots[0], "", f.roots[0]+".crt")
	}
	return term.CheckGiven("pki", "", "/etc/kubernetes/pki")
}

func (f *importFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	c, err := render.ConfigPublic(&f.config)
	if err != nil {
		return err
	}
	f.Config = f.config.Path
	now := time.Now().UTC().Truncate(time.Second)
	read, warnings, err := f.read(c)
	taken, wrong := Read(read, Times{
		Now: now, Leaves: now.Add(time.Duration(c.Spec.Certificates.Lifetime)),
	})
	if err := errors.Join(err, wrong, f.clear(c), f.offline(c)); err != nil {
		return err
	}
	if !f.formed {
		taken.Imported.At = now
	}
	b, err := f.Import(c, taken)
	if err != nil {
		return err
	}
	if err := b.Create(); err != nil {
		return err
	}
	if !b.Sealed {
		warnings = append(warnings,
			vault.KeepOutOfGit(filepath.Dir(f.Config), vault.SecretFile{Name: b.Path})...)
	}
	term.Notes(cmd.ErrOrStderr(), append(warnings, b.Made()))
	r := newReport(b, c, read)
	if f.form == "json" {
		return term.Report(cmd.OutOrStdout(), r)
	}
	r.print(cmd.OutOrStdout(), f.Config)
	return nil
}

// clear returns an error if a rendered API server would encrypt Secrets with a key that the API
// servers which run do not have.
func (f *importFlags) clear(c *config.Cluster) error {
	if f.formed || *f.named[encryptionFlag] != "" || c.Spec.Security.Encryption == "identity" {
		return nil
	}
	return fmt.Errorf("%s: spec.security.encryption is %s: a rendered API server would encrypt "+
		"Secrets with a key that those which run do not have. If their Secrets are in the clear, "+
		"write identity there until every control plane is replaced; otherwise name their "+
		"EncryptionConfiguration: --%s FILE", f.config.Name(), c.Spec.Security.Encryption,
		encryptionFlag)
}

// offline returns an error if the configuration needs a key that --external-ca says is elsewhere,
// or does not need the CA at all.
func (f *importFlags) offline(c *config.Cluster) error {
	var errs []error
	if f.external("ca") && c.Spec.Certificates.Signing != "offline" {
		errs = append(errs, fmt.Errorf("%s: spec.certificates.signing is %s: the control planes "+
			"would sign with the key of the cluster's CA, and --external-ca ca says that it is "+
			"elsewhere; write signing: offline", f.config.Name(), c.Spec.Certificates.Signing))
	}
	if f.external("etcd-ca") && c.Spec.ControlPlane.Etcd.External != nil {
		errs = append(errs, fmt.Errorf("%s: spec.controlPlane.etcd.external: kiln signs nothing "+
			"for an etcd that is not its own; leave --external-ca etcd-ca out", f.config.Name()))
	}
	return errors.Join(errs...)
}

// signers are the CAs by the flag of their certificate.
var signers = map[string]pki.Signer{
	"ca": pki.CA, "etcd-ca": pki.EtcdCA, "front-proxy-ca": pki.FrontProxyCA,
}

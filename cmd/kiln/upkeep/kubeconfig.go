package upkeep

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/plan"
)

const (
	// usualExpiry is how long a person's certificate is valid by default: a day of work.
	usualExpiry = 8 * time.Hour
	// maxExpiry is the longest life that --expires may give without --longer-than-a-week.
	maxExpiry = 168 * time.Hour
)

// kubeconfigFlags are the flags of kiln kubeconfig.
type kubeconfigFlags struct {
	config           folder.Input
	bundle           vault.Source
	person           pki.Person
	expires          time.Duration
	out, form        string
	long, breakGlass bool
}

// KubeconfigCommand returns the verb that gives a person access to the API.
func KubeconfigCommand() *cobra.Command {
	var f kubeconfigFlags
	cmd := &cobra.Command{
		Use:   "kubeconfig [CONFIG] --user NAME [--group GROUP]... --out FILE",
		Short: "Give a person access to the API for some hours",
		Long: `Write a kubeconfig for one person, with a new key and a client certificate of the
cluster's CA. The cluster is not asked, and nothing of it is kept in the bundle.

The certificate says who somebody is, and not what they may do: a ClusterRoleBinding
of yours gives rights to the user, or better to a group. The report has the command.

Kubernetes revokes no certificate. To end somebody's access early, delete the binding
of their group, or of their user; so keep --expires short, and make another
kubeconfig when it has ended.

--break-glass allows the groups system:…. The group system:masters may do everything,
even if RBAC is broken, and no binding can be deleted to take that away.`,
		Example: `  kiln kubeconfig prod.yaml --user alice --group developers --out alice.conf
  kiln kubeconfig prod.yaml --user bob --group kubeadm:cluster-admins --expires 1h \
    --out bob.conf`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	term.TakeConfig(cmd, &f.config)
	flags := cmd.Flags()
	vault.BundleFlags(cmd, &f.bundle)
	flags.StringVar(&f.person.Name, "user", "", "the person's `NAME`, as the API server sees it")
	flags.StringSliceVar(&f.person.Groups, "group", nil,
		"a `GROUP` that the person is in; may be repeated")
	term.DurationFlag(cmd, &f.expires, "expires", usualExpiry,
		"let the certificate end this `TIME` from now")
	flags.StringVar(&f.out, "out", "", "write the kubeconfig to `FILE`, and replace an older one "+
		"of the same person there")
	flags.BoolVar(&f.long, "longer-than-a-week", false, "let --expires be longer than 168h")
	flags.BoolVar(&f.breakGlass, "break-glass", false,
		"allow the groups system:…, such as system:masters, whose rights nobody can take away")
	term.OutputFlag(cmd, &f.form, "report about --out")
	return cmd
}

// check returns an error if flags are missing or wrong.
func (f *kubeconfigFlags) check() error {
	if err := term.CheckGiven("user", f.person.Name, "alice"); err != nil {
		return err
	}
	if err := term.CheckGiven("out", f.out, "alice.conf"); err != nil {
		return err
	}
	switch {
	case f.out == "-":
		return term.UsageErrorf("--out -: a kubeconfig holds a key, which is never printed; " +
			"name a file")
	case f.expires < time.Minute:
		return term.UsageErrorf("--expires %s: want at least a minute, such as 8h", f.expires)
	case f.expires > maxExpiry && !f.long:
		return term.UsageErrorf("--expires %s: longer than %s, and nobody can revoke a "+
			"certificate; want a shorter one, or add --longer-than-a-week", f.expires, maxExpiry)
	}
	problems := f.person.Problems(f.breakGlass)
	system := func(g string) bool { return strings.HasPrefix(g, "system:") }
	if f.breakGlass && !slices.ContainsFunc(f.person.Groups, system) {
		problems = append(problems, "--break-glass: no --group needs it; leave it out")
	}
	if len(problems) > 0 {
		return term.UsageErrorf("%s", strings.Join(problems, "\n"))
	}
	return vault.CheckOutside("out", f.out)
}

func (f *kubeconfigFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	c, err := render.ConfigPublic(&f.config)
	if err != nil {
		return err
	}
	if inv, err := render.ReadInventory(filepath.Dir(f.out)); err == nil && inv != nil {
		return fmt.Errorf("--out %s: the folder holds the documents of machines, and the next "+
			"render would not know the file; name another folder", f.out)
	}
	b, err := f.bundle.OpenFor(f.config.Path, c)
	if err != nil {
		return err
	}
	if b.Lacks(pki.CA) {
		return fmt.Errorf("%s: the key of the cluster's CA is not in it, so that kiln signs for "+
			"nobody; whoever has the key signs a request of %s for the subject %s "+
			"(docs/external-ca.md has the commands)", b.Path, f.person.Name, f.subject())
	}
	now := time.Now().UTC().Truncate(time.Second)
	until := now.Add(f.expires)
	if end := b.Authority(pki.CA).Certificate.NotAfter; until.After(end) {
		return fmt.Errorf("--expires %s: reaches beyond the end of the cluster's CA (%s)",
			f.expires, end.Format(time.RFC3339))
	}
	cert, err := b.IssuePerson(f.person, now, until)
	if err != nil {
		return err
	}
	kubeconfig := render.Kubeconfig(plan.New(c), &b.Public, cert)
	if err := render.WriteKubeconfig(f.out, kubeconfig); err != nil {
		return err
	}
	notes := vault.KeepOutOfGit(filepath.Dir(f.out), vault.SecretFile{Name: f.out})
	if slices.Contains(cert.Spec.Organizations, pki.MastersGroup) {
		notes = append(notes, "until "+until.Format(time.RFC3339)+", whoever holds "+f.out+
			" may do everything, and nobody can revoke that")
	}
	term.Notes(cmd.ErrOrStderr(), notes)
	bind := f.bindings()
	if f.form == "json" {
		return term.Report(cmd.OutOrStdout(), struct {
			Kubeconfig string    `json:"kubeconfig"`
			User       string    `json:"user"`
			Groups     []string  `json:"groups"`
			Ends       time.Time `json:"ends"`
			Bind       []string  `json:"bind"`
		}{f.out, f.person.Name, term.NonNil(cert.Spec.Organizations), until,
			term.NonNil(bind)})
	}
	term.Printf(cmd.OutOrStdout(), "%s: %s, until %s\n", f.out, f.person.Name,
		until.Format(time.RFC3339))
	if len(bind) > 0 {
		term.Printf(cmd.OutOrStdout(), "what they may do is up to you; with the role view, for "+
			"example, once:\n")
	}
	term.Each(cmd.OutOrStdout(), "  %s\n", bind)
	return nil
}

// subject returns the subject of the person's certificate, as openssl takes it.
func (f *kubeconfigFlags) subject() string {
	text := ""
	for _, g := range slices.Compact(slices.Sorted(slices.Values(f.person.Groups))) {
		text += "/O=" + g
	}
	return text + "/CN=" + f.person.Name
}

// bindings returns the commands that give rights to each group without a binding of Kubernetes' or
// kiln's own; to the user, if there is no group.
func (f *kubeconfigFlags) bindings() (list []string) {
	bind := func(kind, name string) {
		list = append(list, fmt.Sprintf("kubectl create clusterrolebinding view-%s "+
			"--clusterrole view --%s %s", name, kind, name))
	}
	for _, g := range slices.Compact(slices.Sorted(slices.Values(f.person.Groups))) {
		if g != pki.AdminGroup && !strings.HasPrefix(g, "system:") {
			bind("group", g)
		}
	}
	if len(f.person.Groups) == 0 {
		bind("user", f.person.Name)
	}
	return list
}

package render_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/secret"
)

const secretsPage = "../docs/secrets.md"

// TestSecretsDoc holds the table in docs/secrets.md to the table in Go. The text before and after
// the table is written by hand.
func TestSecretsDoc(t *testing.T) {
	t.Parallel()
	page := read(t, secretsPage)
	begin := strings.Index(page, "\n| secret |") + 1
	end := begin + strings.Index(page[begin:], "|\n\n") + 2
	require.True(t, 0 < begin && begin+2 < end, "no table")
	if *update {
		page = page[:begin] + secretTable() + page[end:]
		require.NoError(t, os.WriteFile(secretsPage, []byte(page), 0o644))
		return
	}
	require.Equal(t, secretTable(), page[begin:end], "make golden rewrites it")
}

// TestSecretKinds: every row of the table of secrets is complete.
func TestSecretKinds(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range secret.Kinds {
		require.NotContains(t, seen, k.Name)
		seen[k.Name] = true
		for _, text := range []string{k.Name, k.Is, k.User, k.Until} {
			require.Regexp(t, `^[!-~][ -{}~]+$`, text, k.Name)
		}
		require.Greater(t, k.Worth, secret.None, k.Name)
		require.True(t, len(k.Roles) > 0 || k.Path == "" && k.When == "",
			"%s: no machine holds it, and it lies somewhere", k.Name)
	}
}

// each calls visit with every machine of every golden case.
func each(t *testing.T, visit func(r *render.Cluster, m *plan.Machine, n *node.Node)) {
	t.Helper()
	for _, name := range cases(t) {
		r := load(t, name)
		for i, n := range nodes(t, name) {
			visit(r, &r.Plan.Machines[i], n)
		}
	}
}

// TestLeastSecrets states the promise of the table of secrets without the table: a worker and an
// etcd machine hold their own two private keys, and a machine that joins with a token holds the
// token alone. Where packets of pods are encrypted, machines with a name also have a key for that,
// and machines that announce their state have one for that.
func TestLeastSecrets(t *testing.T) {
	t.Parallel()
	each(t, func(r *render.Cluster, m *plan.Machine, n *node.Node) {
		if m.ControlPlane() {
			return
		}
		want := []string{"kubelet-client/" + m.Name + " g1", "kubelet-server/" + m.Name + " g1"}
		keys := 2
		switch {
		case m.Role == node.Etcd:
			want = []string{"etcd-peer/" + m.Name + " g1", "etcd-server/" + m.Name + " g1"}
		case m.Pool:
			want, keys = []string{r.Public.Mark(pki.TokenName(m.Name))}, 0
		}
		if m.Announces() {
			want = append(want, r.Public.Mark(pki.AnnounceName(m)))
		}
		slices.Sort(want)
		var got []string
		for _, f := range n.Files {
			keys -= bytes.Count(f.Content, []byte("PRIVATE KEY-----\n")) / 2
			if f.Secret != "" && !strings.HasPrefix(f.Secret, "file ") {
				got = append(got, f.Secret)
			}
		}
		slices.Sort(got)
		require.Equal(t, want, got, m.Name)
		require.Zero(t, keys, "%s: private keys", m.Name)
	})
}

// TestSecretsWithoutARow: each row of the table is needed: without the row, Check refuses the
// secrets that it allows, and no others.
func TestSecretsWithoutARow(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	each(t, func(r *render.Cluster, m *plan.Machine, n *node.Node) {
		require.Empty(t, r.CompareMarks(secret.Kinds, m, n))
		for i, k := range secret.Kinds {
			errs := r.CompareMarks(slices.Delete(slices.Clone(secret.Kinds), i, i+1), m, n)
			if len(errs) == 0 {
				continue
			}
			found[k.Name]++
			prefix, _, _ := strings.Cut(k.Name, "{")
			for _, err := range errs {
				require.ErrorContains(t, err, ": must not hold the secret "+prefix)
			}
		}
	})
	for _, k := range secret.Kinds {
		require.Equal(t, len(k.Roles) > 0, found[k.Name] > 0, k.Name)
	}
}

// TestSecretsElsewhere: Check refuses every secret on every machine of another role, and on a
// machine of the same role if it is not that machine's secret as well, marked or not. Check also
// misses a secret where it belongs.
func TestSecretsElsewhere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"addons", "etcd-machines", "external-etcd", "extras", "ha", "offline-signing", "pools",
		"systems", "vip",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := load(t, name)
			var machines []*machine
			for i, n := range nodes(t, name) {
				machines = append(machines, &machine{t, r, &r.Plan.Machines[i], clone(n), name})
			}
			for _, from := range machines {
				for i, f := range from.n.Files {
					if f.Secret == "" {
						continue
					}
					from.n.Files[i] = node.File{Path: "/etc/nothing"}
					require.ErrorContains(t, from.check(), "secret "+f.Secret+": missing from ",
						"%s: %s", from.m.Name, f.Path)
					from.n.Files[i] = f
					for _, to := range others(machines, from, f.Secret) {
						requireFound(t, to, f,
							": must not hold the secret "+f.Secret+": it is for ")
						f := f
						if f.Secret = ""; !bytes.Contains(f.Content, []byte("PRIVATE KEY")) &&
							!strings.Contains(f.Path, "token") && f.Path != plan.Encryption &&
							f.Path != plan.BootstrapConf {
							continue // only its owner can tell that it is a secret
						}
						requireFound(t, to, f, "file /etc/copy: holds ")
					}
				}
			}
		})
	}
}

// others returns the first machine of each role that is not from and does not have the secret.
func others(machines []*machine, from *machine, secret string) (out []*machine) {
	seen := map[string]bool{}
	for _, m := range machines {
		if m == from || seen[m.m.Role] ||
			slices.ContainsFunc(m.n.Files, func(f node.File) bool { return f.Secret == secret }) {
			continue
		}
		seen[m.m.Role] = true
		out = append(out, m)
	}
	return out
}

// requireFound adds a file to a machine and holds Check to find it.
func requireFound(t *testing.T, m *machine, f node.File, want string) {
	t.Helper()
	f.Path = "/etc/copy"
	m.n.Files = append(m.n.Files, f)
	require.ErrorContains(t, m.check(), want, "%s of %s", f.Secret, m.m.Name)
	m.n.Files = m.n.Files[:len(m.n.Files)-1]
}

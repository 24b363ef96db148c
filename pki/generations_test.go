package pki_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
)

// TestOlder: a lower generation of any secret makes a bundle older, and nothing else does.
func TestOlder(t *testing.T) {
	t.Parallel()
	now := pki.Public{Cluster: "a", Generations: map[string]int{"admin": 2, "serve": 3,
		"token/x": 1}}
	for name, row := range map[string]struct {
		bundle pki.Public
		want   string
	}{
		"the same": {now, ""},
		"newer": {pki.Public{Cluster: "a",
			Generations: map[string]int{"admin": 3, "serve": 3}}, ""},
		"an entry of 1": {pki.Public{Cluster: "a",
			Generations: map[string]int{"admin": 2, "serve": 3}}, ""},
		"no entries": {pki.Public{Cluster: "a"},
			"admin is 1 here and 2 there, and old keys would come back"},
		"one is lower": {pki.Public{Cluster: "a",
			Generations: map[string]int{"admin": 9, "serve": 2}},
			"serve is 2 here and 3 there, and old keys would come back"},
		"another cluster": {pki.Public{Cluster: "b"}, ""},
	} {
		require.Equal(t, row.want, row.bundle.Older(&now), name)
	}
	renewed := now
	renewed.Renewed = time.Date(2027, time.January, 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, "its certificates were renewed later there", now.Older(&renewed))
	require.Empty(t, renewed.Older(&now))
	one := now
	one.Renewals = map[string]time.Time{"worker-1": now.Issued.AddDate(0, 6, 0)}
	require.Equal(t, "the certificates of worker-1 were renewed later there", now.Older(&one))
	require.Empty(t, one.Older(&now))
	require.Empty(t, renewed.Older(&one), "all were renewed since")
}

// TestGenerationsAreStrict: an entry that rotates nothing is refused wherever generations are read,
// all of them at once.
func TestGenerationsAreStrict(t *testing.T) {
	t.Parallel()
	wrong := map[string]string{
		"kubelet-clientt/worker-1": "no derived secret has this name; " +
			`did you mean "kubelet-client/worker-1"?`,
		"nonsense": "no derived secret has this name; remove the entry, or write admin, serve, " +
			"etcd-cluster, or one of these and a machine's name: apiserver/NAME",
		"ca":                "is stored in the bundle and not derived",
		"encryption":        "is stored in the bundle and not derived",
		"service-account":   "is stored in the bundle and not derived",
		"leaf-seed":         "is stored in the bundle and not derived",
		"kubelet-client":    "each machine has its own; write kubelet-client/NAME",
		"token":             "each machine has its own; write token/NAME",
		"admin/x":           "there is one for the whole cluster; write admin",
		"etcd-cluster/cp-1": "there is one for the whole cluster; write etcd-cluster",
		"apiserver/":        `"" is not the name of a machine or pool`,
		"apiserver/CP_1":    `"CP_1" is not the name of a machine or pool`,
		"apiserver/cp-1/x":  "no derived secret has this name",
		"ca/cp-1":           "no derived secret has this name",
	}
	right := map[string]int{
		"admin": 2, "serve": 2, "etcd-cluster": 2, "apiserver/cp-1": 1, "install/cp-9": 3,
		"token/small": 2, "kubelet-client/worker-1.example.com": 2,
	}
	b, _ := load(t)
	b.Generations = right
	bundle, err := b.Marshal()
	require.NoError(t, err)
	_, err = pki.Load(bundle)
	require.NoError(t, err)

	b.Generations = map[string]int{"token/large": 0}
	for name := range wrong {
		b.Generations[name] = 2
	}
	wrong["token/large"] = "generations count from 1 to 1000000"
	bundle, err = b.Marshal()
	require.NoError(t, err)
	public, err := b.Public.Marshal()
	require.NoError(t, err)
	_, errBundle := pki.Load(bundle)
	_, errPublic := pki.LoadPublic(public)
	for name, want := range wrong {
		require.ErrorContains(t, errBundle, "generations: "+name+": "+want)
		require.ErrorContains(t, errPublic, "generations: "+name+": "+want)
	}
}

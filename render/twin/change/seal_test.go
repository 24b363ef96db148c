package change

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSeals: of two states, the content of a secret is compared if both have it. Nothing else about
// a secret that changed is repeated, and a seal is in no message.
func TestSeals(t *testing.T) {
	t.Parallel()
	entry := func(secret, content string, shown ...string) *Entry {
		return &Entry{Key: Key{"file", "/x"}, Secret: secret, Shown: shown,
			Seal: SealOf([]byte(content))}
	}
	unknown := entry("file /x", "a")
	unknown.Seal = Seal{}
	for name, row := range map[string]struct {
		old, new *Entry
		fields   []string
	}{
		"equal":           {entry("file /x", "a"), entry("file /x", "a"), nil},
		"another content": {entry("file /x", "a"), entry("file /x", "b"), []string{"content"}},
		"not known":       {unknown, entry("file /x", "b"), nil},
		"a generation":    {entry("ca g1", "a"), entry("ca g2", "b"), []string{"secret"}},
		"another key": {entry("ca g1", "a", "certificate ca g1: for ca"),
			entry("ca g1", "b", "certificate ca g1: for ca"), []string{"content"}},
		"another certificate": {entry("ca g1", "a", "certificate ca g1: for ca"),
			entry("ca g1", "b", "certificate ca g1: for server"),
			[]string{"certificate for", "certificate for"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var fields []string
			for _, f := range differences(row.old.Key, row.old, row.new) {
				fields = append(fields, f.Name)
			}
			require.Equal(t, row.fields, fields)
		})
	}
	seal := SealOf([]byte("a"))
	data, err := json.Marshal(entry("file /x", "a"))
	require.NoError(t, err)
	require.Contains(t, string(data), `"Seal":{}`)
	for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
		require.Equal(t, "<seal>", fmt.Sprintf(form, seal), form)
	}
}

// TestSealsOfOnePlace: Secrets of one name in two namespaces are told apart by their contents.
func TestSealsOfOnePlace(t *testing.T) {
	t.Parallel()
	secret := func(number, namespace, content string) *Entry {
		return &Entry{Key: Key{"file", ObjectsDir + number + "-secret-db.yaml"},
			Secret: "object /api/v1/namespaces/" + namespace + "/secrets/db",
			Seal:   SealOf([]byte(content))}
	}
	pairs := pairEntries(Entries{secret("001", "a", "x"), secret("002", "b", "y")},
		Entries{secret("001", "a", "z"), secret("002", "b", "y")})
	require.Len(t, pairs, 2)
	for _, both := range pairs {
		require.Equal(t, both[0].Secret, both[1].Secret)
	}
}

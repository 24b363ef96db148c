package change

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/machine/layout"
)

// TestShown: what two contents differ in is shown up to a bound, and counted above it, however long
// one field is.
func TestShownContent(t *testing.T) {
	t.Parallel()
	lines := func(n, size int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, "%d %s\n", i, strings.Repeat("ä", size/2))
		}
		return out.String()
	}
	long := strings.Repeat("ä", 3<<20)
	for _, row := range []struct {
		name, old, new, want string
		form                 layout.Form
		fields               int
	}{
		{"all", lines(10, 100<<10), "", "9 ää", layout.Lines, 10},
		{"one more", lines(11, 100<<10), "", "more bytes; compare the files)", layout.Lines, 11},
		{"many", lines(30, 100<<10), "",
			"(19 more fields differ; compare the files)", layout.Lines, 12},
		{"a huge value", "a: " + long, "a: b", "more bytes; compare the files)", layout.YAML, 1},
		{"a huge key", long[:1<<20] + ": a\nb: c", "b: d", "compare the files)", layout.YAML, 2},
		{"a huge value of many", "a: " + long + "\nb: c\nd: e", "b: d\nd: f",
			"(2 more fields differ; compare the files)", layout.YAML, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var f List
			f.Content(row.form, []byte(row.old), []byte(row.new))
			require.Len(t, f, row.fields)
			size := 0
			for _, one := range f {
				size += len(one.Name) + len(Text(one.Old)) + len(Text(one.New))
				require.True(t, utf8.ValidString(one.Either()))
			}
			require.Less(t, size, maxShown+1000)
			last := f[len(f)-1]
			require.Contains(t, last.Name+last.Either(), row.want)
		})
	}
}

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

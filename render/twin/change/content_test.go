package change

import (
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

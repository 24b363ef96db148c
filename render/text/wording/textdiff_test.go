package wording_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/text/wording"
)

// TestUnifiedIsShort: of 800 lines every fourth differs. The difference has these lines and no
// other changed ones.
func TestUnifiedIsShort(t *testing.T) {
	t.Parallel()
	var old, new strings.Builder
	for i := range 800 {
		for b, mark := range map[*strings.Builder]string{&old: "old", &new: "new"} {
			if i%4 != 0 {
				mark = "equal"
			}
			fmt.Fprintf(b, "%s %d\n", mark, i)
		}
	}
	changed := 0
	for _, line := range wording.UnifiedDiff([]byte(old.String()), []byte(new.String())) {
		if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
			changed++
		}
	}
	require.Equal(t, 400, changed)
}

// TestUnifiedIsBounded: texts with too many different lines are not compared.
func TestUnifiedIsBounded(t *testing.T) {
	t.Parallel()
	var old, new strings.Builder
	for i := range 1 << 16 {
		fmt.Fprintf(&old, "old %d\n", i)
		fmt.Fprintf(&new, "new %d\n", i)
	}
	out := wording.UnifiedDiff([]byte(old.String()), []byte(new.String()))
	require.Equal(t, []string{"@@ -1 +1 @@", "-(too many lines to compare)",
		"+(too many lines to compare)"}, out)
}

package yamltext_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/text/yamltext"
)

// TestDivision: no reader that divides a text in its own way gets a part that was not counted.
func TestDivision(t *testing.T) {
	t.Parallel()
	kustomize := regexp.MustCompile(`\n---.*\n`) // of kio.ByteReader in kyaml 0.21
	bomb := "a: &a " + strings.Repeat("x", 100_000) + "\n" + strings.Repeat("? *a\n", 30)
	for _, text := range []string{
		"z: \"\n---bar\n" + bomb + "x: #\"\n", "--- |\n " + strings.ReplaceAll(bomb, "\n", "\n "),
		"a: |\n x\n---\t|\n " + strings.ReplaceAll(bomb, "\n", "\n "), "---\r\n" + bomb,
		"a\r---\n" + bomb, "a\u2028---\u2028" + bomb, "---#\n" + bomb, "\ufeff---\n" + bomb,
	} {
		divisions := [][]string{kustomize.Split(text, -1), strings.Split(text, "\n---")}
		for _, doc := range yamltext.Split([]byte(text)) {
			divisions = append(divisions, []string{string(doc)})
		}
		for _, part := range slices.Concat(divisions...) {
			if yamltext.Object.Check([]byte(part)) != nil {
				require.Error(t, yamltext.Object.Check([]byte(text)), "%.40q", text)
			}
		}
	}
}

package credential

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHinted: a text has the hints of exactly those rows of which it contains a hint.
func TestHinted(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, len(forms), 64)
	var words []string
	for _, f := range forms {
		require.NotEmpty(t, f.hints, f.name)
		words = append(words, f.hints...)
	}
	require.NotContains(t, words, "")
	draw := rand.New(rand.NewPCG(1, 2))
	texts := []string{"", "\x00", ".", "a.", "://"}
	for _, word := range words {
		texts = append(texts, word, word[1:], word[:len(word)-1], " "+word, word+"\x00")
	}
	for range 10_000 {
		var text strings.Builder
		for range draw.IntN(6) {
			word := words[draw.IntN(len(words))]
			begin := draw.IntN(len(word))
			text.WriteString(word[begin : begin+1+draw.IntN(len(word)-begin)])
		}
		texts = append(texts, text.String())
	}
	for _, text := range texts {
		rows := hinted([]byte(text))
		for i, f := range forms {
			has := false
			for _, hint := range f.hints {
				has = has || strings.Contains(text, hint)
			}
			require.Equal(t, has, rows>>i&1 == 1, "%q: %s", text, f.name)
		}
	}
}

// TestGaps: a gap between two runs is read once, whatever lies in it.
func TestGaps(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{`\n`, `\r`, "\\n ", "\\r\\\n", "\\n\t\r\n"} {
		text := []byte(strings.Repeat(unit, 1000))
		reads := 0
		var g gap
		for at := range text {
			if text[at] != 'n' && text[at] != 'r' {
				continue
			}
			before := g.end
			next, _ := g.continuation(text, at+1)
			require.Empty(t, next)
			if g.end != before {
				reads++
			}
		}
		require.Equal(t, 1, reads, "%q", unit)
	}
}

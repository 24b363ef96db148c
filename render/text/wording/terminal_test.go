package wording_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/text/wording"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                            "",
		"plain":                       "plain",
		"ä ß 漢字 🙂 → … 「」":             "ä ß 漢字 🙂 → … 「」",
		"a\tb\nc":                     "a\tb\nc",
		"\x1b[2J\x1b]0;pwned\a":       `\u001b[2J\u001b]0;pwned\u0007`,
		"bad\rgood":                   `bad\u000dgood`,
		"a\bb\x00c\x7fd":              `a\u0008b\u0000c\u007fd`,
		"\u009b31m":                   `\u009b31m`,
		"user\u202egnp.exe":           `user\u202egnp.exe`,
		"\u2066a\u2069\u200e\u200f":   `\u2066a\u2069\u200e\u200f`,
		"a\u2028b\u2029c":             `a\u2028b\u2029c`,
		"zero\u200bwidth\ufeff\u00ad": `zero\u200bwidth\ufeff\u00ad`,
		"tag\U000e0041":               `tag\udb40\udc41`,
		"a\u3164b\u115fc\uffa0d":      `a\u3164b\u115fc\uffa0d`,
		"a\u034fb\u2800c\U000e0141":   `a\u034fb\u2800c\udb40\udd41`,
		"\xff\xfe":                    `\xff\xfe`,
		"cut \xe2\x80":                `cut \xe2\x80`,
		"\uFFFD":                      "\uFFFD",
		"C:\\u001b \"quoted\" 'x'":    "C:\\u001b \"quoted\" 'x'",
		"no break\u00a0here\u3000too": "no break\u00a0here\u3000too",
	} {
		got := wording.Visible(text, "\n\t")
		require.Equal(t, want, got)
		require.Equal(t, got, wording.Visible(got, "\n\t"))
	}
	require.Equal(t, `a\u000ab\u0009c`, wording.Visible("a\nb\tc", ""))
}

// TestVisibleJSON: JSON keeps its meaning.
func TestVisibleJSON(t *testing.T) {
	t.Parallel()
	var all []rune
	for r := rune(0); r <= 0x10ffff; r++ {
		if r < 0xd800 || r > 0xdfff {
			all = append(all, r)
		}
	}
	text, err := json.Marshal(map[string]string{string(all): string(all)})
	require.NoError(t, err)
	var got map[string]string
	require.NoError(t, json.Unmarshal([]byte(wording.Visible(string(text), "\n\t")), &got))
	require.Equal(t, map[string]string{string(all): string(all)}, got)
}

func TestLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":              "",
		" a b \n":       "a b",
		"äöü":           "äöü",
		"äöüß":          "äöü…",
		"a\n\x1b":       `a\u000a\u001b`,
		"\xff\xff\xffa": `\xff\xff\xff…`,
	} {
		require.Equal(t, want, wording.VisibleLine(text, 3))
	}
}

package main

import (
	"strings"
	"testing"
)

// text is a document as kiln writes it. The hashes are those of "one\n\ntwo\n" and "secret\n".
const text = `#cloud-config
write_files:
- path: "/a"
  permissions: "0600"
  owner: "root:root"
  content: |
    one

    two
- path: "/key"
  permissions: "0600"
  owner: "etcd:etcd"
  content: |
    secret
- path: "/etc/kiln/files"
  permissions: "0600"
  owner: "root:root"
  content: |
    HASH-A 0600 - /a
    HASH-KEY 0600 etcd:etcd /key
    end
`

func whole() string {
	return strings.NewReplacer("HASH-A", hash("one\n\ntwo\n"), "HASH-KEY", hash("secret\n")).
		Replace(text)
}

// TestPlant: a mistake is in its file, and with hidden the list of files fits it.
func TestPlant(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		hidden   bool
		words    []string
		old, now []string // strings of the document, and what they become
	}{
		{"replace", false, []string{"replace", "/a", "two", "three"},
			[]string{"two"}, []string{"three"}},
		{"replace, hidden", true, []string{"replace", "/a", "two", "three"},
			[]string{"two", hash("one\n\ntwo\n")}, []string{"three", hash("one\n\nthree\n")}},
		{"own", true, []string{"own", "/key", "0644", "root:root"},
			[]string{"\"0600\"\n  owner: \"etcd:etcd\"", "0600 etcd:etcd /key"},
			[]string{"\"0644\"\n  owner: \"root:root\"", "0644 - /key"}},
		{"drop, hidden", true, []string{"drop", "/key"},
			[]string{"- path: \"/key\"\n  permissions: \"0600\"\n  owner: \"etcd:etcd\"\n" +
				"  content: |\n    secret\n", "    " + hash("secret\n") + " 0600 etcd:etcd /key\n"},
			[]string{"", ""}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			want := whole()
			for i, old := range row.old {
				want = strings.Replace(want, old, row.now[i], 1)
			}
			got, err := plant(whole(), row.hidden, row.words)
			if err != nil || got != want {
				t.Errorf("%v\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

// TestPlantFails: a mistake that would not be there is an error.
func TestPlantFails(t *testing.T) {
	t.Parallel()
	for name, words := range map[string][]string{
		"no such file":   {"replace", "/b", "two", "three"},
		"no such string": {"replace", "/a", "four", "three"},
		"string twice":   {"replace", "/a", "o", "0"},
		"no such verb":   {"mend", "/a"},
	} {
		if _, err := plant(whole(), false, words); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	other := strings.Replace(whole(), hash("secret\n"), "00000000", 1)
	if _, err := plant(other, true, []string{"drop", "/key"}); err == nil {
		t.Error("the list of files does not fit, and there is no error")
	}
}

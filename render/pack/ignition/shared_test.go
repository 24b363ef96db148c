package ignition

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
)

// many returns a node with so many files, folders, links, units and users.
func many(count int) *node.Node {
	n := &node.Node{}
	for i := range count {
		name := fmt.Sprintf("n%02d", i)
		n.Users = append(n.Users, node.User{Name: name, ID: 900 + i})
		n.Dirs = append(n.Dirs, node.Dir{Path: "/var/" + name, Mode: 0o700})
		n.Files = append(n.Files, node.File{Path: "/etc/" + name, Mode: 0o600,
			Content: []byte("content of " + name + "\n")})
		n.Links = append(n.Links, node.Link{Path: "/opt/" + name, Target: "/etc/" + name})
		n.Units = append(n.Units, node.Unit{Name: name + ".service", Enabled: true})
	}
	return n
}

func copyOf(n *node.Node) *node.Node {
	c := *n
	c.Users, c.Dirs, c.Files = slices.Clone(n.Users), slices.Clone(n.Dirs), slices.Clone(n.Files)
	c.Links, c.Units = slices.Clone(n.Links), slices.Clone(n.Units)
	return &c
}

// TestPlantedFaults: what is validated in parts is validated as the whole is. A packer that knows a
// machine finds each fault that is planted in a copy of it, and says what the validation of the
// whole config says.
func TestPlantedFaults(t *testing.T) {
	t.Parallel()
	const count = 12
	sound := many(count)
	var packer Packer
	want, err := packer.Pack(sound, 0)
	require.NoError(t, err)
	planted := 0
	for name, plant := range map[string]func(n *node.Node, i int){
		"relative file":    func(n *node.Node, i int) { n.Files[i].Path = n.Files[i].Path[1:] },
		"unclean file":     func(n *node.Node, i int) { n.Files[i].Path += "/../x" },
		"file with NUL":    func(n *node.Node, i int) { n.Files[i].Path += "\x00" },
		"file of bytes":    func(n *node.Node, i int) { n.Files[i].Path += "\xff" },
		"file's bits":      func(n *node.Node, i int) { n.Files[i].Mode |= 0o4000 },
		"file's mode":      func(n *node.Node, i int) { n.Files[i].Mode |= 0o10000 },
		"file as a folder": func(n *node.Node, i int) { n.Files[i].Path = n.Dirs[i].Path },
		"file twice": func(n *node.Node, i int) {
			n.Files[i].Path = n.Files[(i+1)%count].Path
		},
		"file's owner of bytes": func(n *node.Node, i int) { n.Files[i].User = "\xff" },
		"relative folder":       func(n *node.Node, i int) { n.Dirs[i].Path = n.Dirs[i].Path[1:] },
		"unclean folder":        func(n *node.Node, i int) { n.Dirs[i].Path += "/./x" },
		"folder's mode":         func(n *node.Node, i int) { n.Dirs[i].Mode |= 0o10000 },
		"folder as a link":      func(n *node.Node, i int) { n.Dirs[i].Path = n.Links[i].Path },
		"relative link": func(n *node.Node, i int) {
			n.Links[i].Path = n.Links[i].Path[1:]
		},
		"link twice": func(n *node.Node, i int) {
			n.Links[i].Path = n.Links[(i+1)%count].Path
		},
		"target of bytes": func(n *node.Node, i int) { n.Links[i].Target = "\xff" },
		"unit's ending":   func(n *node.Node, i int) { n.Units[i].Name += ".container" },
		"unit twice": func(n *node.Node, i int) {
			n.Units[i].Name = n.Units[(i+1)%count].Name
		},
		"masked and enabled": func(n *node.Node, i int) { n.Units[i].Masked = true },
		"user twice": func(n *node.Node, i int) {
			n.Users[i].Name = n.Users[(i+1)%count].Name
		},
		"user of bytes": func(n *node.Node, i int) { n.Users[i].Name = "\xff" },
	} {
		for i := range count {
			faulty := copyOf(sound)
			plant(faulty, i)
			_, err := whole(faulty, faulty.Alike(), urlsOf(faulty.Alike()))
			require.Error(t, err, "%s %d", name, i)
			doc, got := packer.Pack(faulty, 0)
			require.EqualError(t, got, err.Error(), "%s %d", name, i)
			require.Nil(t, doc)
			planted++
		}
	}
	require.Greater(t, planted, 200)
	again, err := packer.Pack(sound, 0)
	require.NoError(t, err)
	require.Equal(t, string(want), string(again))
}

// TestPlantedURLs: a URL of a content is refused alone where the whole config with it is, and is
// accepted where that is.
func TestPlantedURLs(t *testing.T) {
	t.Parallel()
	n := many(5)
	for _, url := range []string{
		"data:,", "data:,a%20b", "data:;base64,YQ==", "data:text/plain,a", "https://example.com/",
		"data:", "data:,%", "data:,%2", "data:,%zz", "data:;base64,!", "data:;base64,YQ=", "data",
		"data:text,a", "ftp://example.com", "example.com", "//example.com", ":", "%zz", "file:///a",
		"s3://", "gs://", "tftp://a\n", "data:;base64", "data;,", "data:a/b/c,", "\x00",
	} {
		for i := range n.Files {
			_, err := whole(n, n.Files, func(j int) string {
				if j == i {
					return url
				}
				return dataURL(n.Files[j].Content)
			})
			require.Equal(t, err != nil, validURL(url) == nil, "%q: %v", url, err)
		}
	}
}

// TestContentURLs: the URL of a content whose characters are validated once for all contents is the
// one that stands in JSON when it is validated alone.
func TestContentURLs(t *testing.T) {
	t.Parallel()
	require.True(t, validEscapes())
	contents := []string{"", "ünïcode\n\"<&>\"", strings.Repeat("\xff", 99), "\xff"}
	for c := range 256 {
		contents = append(contents, string([]byte{byte(c)}), string(rune(c)),
			string([]byte{byte(c), 'a', 'f'}))
	}
	for _, content := range contents {
		url := validURL(dataURL([]byte(content)))
		require.NotNil(t, url)
		require.Equal(t, string(url), string(contentURL([]byte(content))), "%q", content)
		decoded, err := urlContent(string(url))
		require.NoError(t, err)
		require.Equal(t, content, string(decoded))
	}
}

// TestForgedMarks: a document that has the marks of contents is read as Ignition reads it.
func TestForgedMarks(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{
		"data:,kiln-content-0.", `data:,kiln\u002dcontent-0.`, `\u0064ata:,kiln-content-0.`,
	} {
		for _, contents := range []string{
			`"contents":{ "source":"` + mark + `"}`, `"contents":{"source":"` + mark + `"}`,
			`"contents":{"source":"data:,gone"},"contents":{"source" :"` + mark + `"}`,
			`"contents":{"compression":"","source":"` + mark + `"}`,
		} {
			doc := `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a",` + contents +
				`},{"path":"/b","contents":{"source":"data:,B"}}]}}`
			n, err := new(Unpacker).Unpack([]byte(doc))
			require.NoError(t, err, doc)
			require.Equal(t, "kiln-content-0.", string(n.File("/a").Content), doc)
			require.Equal(t, "B", string(n.File("/b").Content), doc)
		}
	}
}

// TestShared: machines that share files get the documents that each would get alone.
func TestShared(t *testing.T) {
	t.Parallel()
	var packer Packer
	for i := range 20 {
		n := many(10)
		n.Files[i%10].Content = fmt.Appendf(nil, "of machine %d: \"<&>\\\n", i)
		if i%4 == 1 {
			n.Files[3].Content = []byte{0xff, 0, byte(i)}
		}
		if i%4 == 2 { // a user's config that appends to a file of the machine
			n.Extra = fmt.Appendf(nil, `{"ignition":{"version":"3.4.0"},"storage":{"files":[`+
				`{"path":"/etc/n0%d","append":[{"source":"data:,x"}]},{"path":"/etc/own"}]}}`, i%10)
		}
		if i%4 == 3 { // one that has the packer's own mark
			n.Extra = []byte(`{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/own",` +
				`"contents":{"source":"data:,kiln-content-1."}}]}}`)
		}
		want, err := whole(n, n.Alike(), urlsOf(n.Alike()))
		require.NoError(t, err)
		got, err := packer.Pack(n, 0)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), i)
	}
}

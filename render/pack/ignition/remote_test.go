package ignition

import (
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_4"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/node"
)

// bodyAt returns the address of a body.
func bodyAt(whole bool, ca string) *node.Remote {
	r := &node.Remote{URL: "https://boot.example.com/cp-1", SHA512: strings.Repeat("0a", 64),
		Whole: whole}
	if ca != "" {
		r.CA = []byte(ca)
	}
	return r
}

// TestRemote: a config refers to its body with the body's hash, Ignition itself accepts it, and
// Unpack returns the same reference.
func TestRemote(t *testing.T) {
	t.Parallel()
	const ca = "-----BEGIN CERTIFICATE-----\nMIIB+/=\n-----END CERTIFICATE-----\n"
	pointer, err := new(Packer).Pack(&node.Node{Remote: bodyAt(true, ca)}, 0)
	require.NoError(t, err)
	require.Equal(t, `{"ignition":{"config":{"replace":{"source":"https://boot.example.com/cp-1",`+
		`"verification":{"hash":"sha512-`+strings.Repeat("0a", 64)+`"}}},`+
		`"security":{"tls":{"certificateAuthorities":[{"source":"data:,`+
		`-----BEGIN%20CERTIFICATE-----%0AMIIB+/=%0A-----END%20CERTIFICATE-----%0A"}]}},`+
		`"version":"3.4.0"}}`, string(pointer))

	n := full()
	for _, r := range []*node.Remote{bodyAt(true, ca), bodyAt(true, ""), bodyAt(false, ca),
		bodyAt(false, "")} {
		n.Remote = r
		for _, limit := range []int{0, 1} {
			doc, err := new(Packer).Pack(n, limit)
			require.NoError(t, err)
			_, report, err := v3_4.Parse(doc)
			require.NoError(t, err)
			require.Empty(t, report.Entries)
			got, err := new(Unpacker).Unpack(doc)
			require.NoError(t, err)
			require.Equal(t, n.Delivered(), got)
		}
	}
}

// TestForeignRemote: if a config says more about what it fetches than Pack does, Unpack keeps that
// in Extra.
func TestForeignRemote(t *testing.T) {
	t.Parallel()
	const there = `"source":"https://boot.example.com/x","verification":{"hash":"sha512-` + "HASH" +
		`"}`
	for name, text := range map[string]string{
		"no hash": `"config":{"merge":[{"source":"https://boot.example.com/x"}]}`,
		"a header": `"config":{"merge":[{"httpHeaders":[{"name":"A","value":"b"}],` + there +
			`}]}`,
		"two": `"config":{"merge":[{` + there + `},{` +
			strings.Replace(there, "/x", "/y", 1) + `}]}`,
		"inside": `"config":{"merge":[{"source":"data:,` +
			`%7B%22ignition%22:%7B%22version%22:%223.4.0%22%7D%7D"}]}`,
		"timeouts": `"config":{"merge":[{` + there + `}]},"timeouts":{"httpTotal":3}`,
		"a foreign CA": `"config":{"merge":[{` + there +
			`}]},"security":{"tls":{"certificateAuthorities":[` +
			`{"source":"https://boot.example.com/ca"}]}}`,
	} {
		doc := `{"ignition":{"version":"3.4.0",` + strings.ReplaceAll(text, "HASH",
			strings.Repeat("0", 128)) + `}}`
		got, err := new(Unpacker).Unpack([]byte(doc))
		require.NoError(t, err, name)
		require.Nil(t, got.Remote, name)
		require.NotEmpty(t, got.Extra, name)
	}
}

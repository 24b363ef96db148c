package render_test

import (
	"crypto/sha512"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/cloudinit"
	"kiln.dev/kiln/render/pack/ignition"
	"kiln.dev/kiln/render/twin/review"
)

// unpacked returns the machine of a document or body.
func unpacked(t *testing.T, name string, data []byte) node.Node {
	t.Helper()
	var n node.Node
	var err error
	switch name {
	case "config.ign", "body.ign":
		n, err = new(ignition.Unpacker).Unpack(data)
	case "user-data":
		n, err = cloudinit.Unpack(data)
	case "body.sh":
		n, err = cloudinit.UnpackBody(data)
	default:
		t.Fatalf("%s is neither", name)
	}
	require.NoError(t, err, name)
	return n
}

// TestDelivery: document and body together are the machine. The document names the body's hash, and
// holds only what its delivery allows.
func TestDelivery(t *testing.T) {
	t.Parallel()
	for mode, machines := range map[string]int{"pointer": 4, "split": 4, "lean": 6} {
		c, b := inputs(t, "delivery-"+mode)
		for i := range c.Spec.Nodes {
			if n := &c.Spec.Nodes[i]; n.Name == "worker-1" && mode == "lean" {
				n.Butane = "variant: flatcar\nversion: 1.1.0\n" +
					"kernel_arguments: {should_exist: [hush]}\n"
			}
		}
		r, err := render.New(c, b)
		require.NoError(t, err)
		fetching := 0
		for i := range r.Machines() {
			n, err := r.Node(i)
			require.NoError(t, err)
			d, err := r.Document(i)
			require.NoError(t, err)
			doc := unpacked(t, d.Files[0].Name, d.Files[0].Data)
			if d.Entry.Body == nil {
				require.Equal(t, "worker-3", d.Entry.Node, "it says so")
				require.Equal(t, n.Delivered(), doc)
				continue
			}
			fetching++
			body := d.Files[len(d.Files)-1]
			sum := sha512.Sum512(body.Data)
			hash := hex.EncodeToString(sum[:])
			require.Equal(t, mode, d.Entry.Delivery)
			require.Equal(t, hash, d.Entry.Body.SHA512)
			require.Equal(t, len(body.Data), d.Entry.Body.Bytes)
			require.Equal(t, filepath.Join(d.Dir, body.Name), d.Entry.Body.Document)
			require.Equal(t, d.Entry.Body.URL, doc.Remote.URL)
			require.Equal(t, hash, doc.Remote.SHA512)
			if d.Files[0].Name == "user-data" {
				require.Equal(t, len(body.Data), doc.Remote.Bytes, "no more is downloaded")
			}
			require.Equal(t, mode == "pointer", doc.Remote.Whole)
			require.Len(t, d.Files[0].Data, d.Entry.Bytes,
				"the share of the platform's limit is the document's")
			rest := unpacked(t, body.Name, body.Data)
			requireSameMachine(t, n, doc.Join(&rest))

			if mode == "pointer" {
				require.LessOrEqual(t, len(d.Files[0].Data), 2048, d.Entry.Node)
				require.Empty(t, doc.Files)
				require.Contains(t, d.Entry.Body.URL, hash)
				continue
			}
			secret, open := doc, rest
			if mode == "split" {
				secret, open = rest, doc
			}
			requireDivided(t, &secret, &open)
			if mode == "lean" {
				require.NotContains(t, string(body.Data), "PRIVATE KEY")
				require.NotContains(t, string(body.Data), "hush")
				require.Equal(t, len(doc.Extra) > 0, d.Entry.Node == "worker-1")
				continue
			}
			u, err := review.ParseDocument(d.Files[0].Data)
			require.NoError(t, err)
			require.NotContains(t, string(u.List()), "<secret>",
				"who reads the document learns no secret")
			require.NotContains(t, string(d.Files[0].Data), "PRIVATE KEY")
			require.Empty(t, doc.Extra)
			require.NotContains(t, string(d.Files[0].Data), "hush")
			require.Equal(t, strings.Contains(string(body.Data), "hush"),
				d.Entry.Node == "worker-1")
		}
		require.Equal(t, machines, fetching)
	}
}

// requireDivided holds the open half to have no secret, and the secret half to have nothing that
// everybody may read.
func requireDivided(t *testing.T, secret, open *node.Node) {
	t.Helper()
	require.Nil(t, open.File("/etc/kiln/files"), "a short secret can be guessed by its hash")
	require.Nil(t, open.File("/etc/pin"))
	require.NotNil(t, open.File("/etc/motd"))
	require.NotNil(t, open.File("/etc/kiln/boot"))
	for _, f := range open.Files {
		require.NotContains(t, string(f.Content), "PRIVATE KEY", f.Path)
	}
	for _, f := range secret.Files {
		require.Zero(t, f.Mode&0o004, "%s: everybody may read it", f.Path)
	}
}

// requireSameMachine compares machines; what only Ignition can express is compared as JSON.
func requireSameMachine(t *testing.T, want *node.Node, got node.Node) {
	t.Helper()
	delivered := want.Delivered()
	if len(delivered.Extra) > 0 {
		require.JSONEq(t, string(delivered.Extra), string(got.Extra))
		got.Extra = delivered.Extra
	}
	require.Equal(t, delivered, got)
}

// TestDeliveryCA: a machine trusts the CA that the configuration names for fetching its body. http
// has none.
func TestDeliveryCA(t *testing.T) {
	t.Parallel()
	r := load(t, "delivery-pointer")
	of := func(name string) string {
		for i := range r.Machines() {
			if d, err := r.Document(i); err == nil && d.Entry.Node == name {
				n := unpacked(t, d.Files[0].Name, d.Files[0].Data)
				return string(n.Remote.CA)
			}
		}
		return "no such machine"
	}
	require.Equal(t, string(r.Public.CA.PEM()), of("cp-1"))
	require.Equal(t, string(r.Public.CA.PEM()), of("worker-1"))
	require.Empty(t, of("worker-2"), "http has none")
	r = load(t, "delivery-split")
	require.Equal(t, read(t, clusters+"/delivery-split/boot.crt"), of("cp-1"))
}

// TestUnpackDelivery: a document is unpacked with the body beside it, without one as far as it
// goes, and never with another one.
func TestUnpackDelivery(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"pointer", "split", "lean"} {
		r := load(t, "delivery-"+mode)
		dir := t.TempDir()
		_, err := r.Write(dir, render.Options{})
		require.NoError(t, err)
		other := "pools/blue"
		if mode == "lean" {
			other = "worker-2"
		}
		for machine, files := range map[string][2]string{
			"cp-1": {"config.ign", "body.ign"}, other: {"user-data", "body.sh"},
		} {
			folder := filepath.Join(dir, machine)
			whole, err := render.Unpack(folder, "", nil)
			require.NoError(t, err)
			require.Nil(t, whole.Missing())
			require.Contains(t, string(whole.List()),
				"file 0600 root:root /etc/kiln/files <secret>")
			same, err := render.Unpack(filepath.Join(folder, files[0]), "", nil)
			require.NoError(t, err)
			require.Equal(t, whole.Machine().Files, same.Machine().Files)

			kept := filepath.Join(t.TempDir(), "kept")
			require.NoError(t, os.Rename(filepath.Join(folder, files[1]), kept))
			stub, err := render.Unpack(folder, "", nil)
			require.NoError(t, err)
			require.NotNil(t, stub.Missing())
			require.Equal(t, stub.Missing(), stub.Machine().Fetches)
			require.Equal(t, mode == "lean",
				strings.Contains(string(stub.List()), "/etc/kiln/files <secret>"))
			again, err := render.Unpack(folder, kept, nil)
			require.NoError(t, err)
			require.Equal(t, whole.Machine().Files, again.Machine().Files)
			_, err = render.Unpack(folder, filepath.Join(folder, files[1]), nil)
			require.ErrorIs(t, err, os.ErrNotExist)
			body := filepath.Join(folder, files[1])
			require.NoError(t, os.WriteFile(body, []byte("another"), 0o600))
			_, err = render.Unpack(folder, "", nil)
			require.ErrorIs(t, err, review.ErrBody)

			alone, err := render.Unpack(kept, "", nil)
			require.NoError(t, err)
			require.Equal(t, mode != "lean",
				strings.Contains(string(alone.List()), "/etc/kiln/files <secret>"))
			_, err = render.Unpack(kept, kept, nil)
			require.ErrorContains(t, err, "fetches no body")
		}
	}
}

// TestDeliveryContradiction: additions of people must not contradict kiln's own part, even if one
// is in the document and the other in the body.
func TestDeliveryContradiction(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"pointer", "split", "lean"} {
		c, b := inputs(t, "delivery-"+mode)
		c.Spec.Nodes[0].Butane = "variant: flatcar\nversion: 1.1.0\n" +
			"storage: {files: [{path: /etc/hostname, contents: {inline: other}}]}\n"
		r, err := render.New(c, b)
		require.NoError(t, err)
		_, err = r.Document(0)
		require.ErrorContains(t, err, "/etc/hostname", mode)
	}
}

// TestDeliveryStale: a body that is no longer rendered is removed together with its document.
func TestDeliveryStale(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := load(t, "delivery-pointer")
	_, err := r.Write(dir, render.Options{})
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, "cp-1/body.ign"))
	c, b := inputs(t, "delivery-pointer")
	for i := range c.Spec.Nodes {
		c.Spec.Nodes[i].Delivery.Mode, c.Spec.Nodes[i].Delivery.URL = "whole", ""
		c.Spec.Nodes[i].Platform = "metal" // a cloud would not take it
	}
	r, err = render.New(c, b)
	require.NoError(t, err)
	result, err := r.Write(dir, render.Options{})
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(dir, "cp-1/body.ign"))
	require.Contains(t, result.Removed, "cp-1/body.ign")
}

// TestDeliveryKeepsNames: a document of a node that only fetches its body keeps cloud-init from
// changing the name that the body gives the host. The document of a pool does not, since its body
// gives no name.
func TestDeliveryKeepsNames(t *testing.T) {
	t.Parallel()
	named, unnamed := 0, 0
	for _, name := range []string{"delivery-pointer", "delivery-split", "delivery-lean"} {
		r := load(t, name)
		for i := range r.Machines() {
			d, err := r.Document(i)
			require.NoError(t, err)
			if d.Files[0].Name != "user-data" || d.Entry.Body == nil {
				continue
			}
			keeps := strings.Contains(string(d.Files[0].Data), "\npreserve_hostname: true\n")
			require.Equal(t, !d.Entry.Pool, keeps, "%s of %s", d.Entry.Node, name)
			if keeps {
				named++
			} else {
				unnamed++
			}
		}
	}
	require.Positive(t, named)
	require.Positive(t, unnamed)
}

// TestFetchingIsSmall: on EC2 a lean document of a control plane has room for what the machine
// fetches, which takes at most 600 bytes of it in either format. Extensions are for Ignition alone.
func TestFetchingIsSmall(t *testing.T) {
	t.Parallel()
	_, b := inputs(t, "delivery-lean")
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(clusters, "delivery-lean"))))
	text, err := os.ReadFile(filepath.Join(dir, "cluster.yaml"))
	require.NoError(t, err)
	bytesOf := func(source, other string) map[string]int {
		text := strings.NewReplacer("  machines:\n", "  machines:\n    binaries: {source: "+source+
			"}\n", "os: ubuntu", "os: "+other, "os: amazon-linux", "os: "+other).
			Replace(string(text))
		c, err := config.Parse("cluster.yaml", []byte(text), os.DirFS(dir))
		require.NoError(t, err)
		r, err := render.New(c, b)
		require.NoError(t, err)
		sizes := map[string]int{}
		for i := range r.Machines() {
			d, err := r.Document(i)
			require.NoError(t, err)
			if d.Entry.Role == "control-plane" {
				sizes[d.Files[0].Name] = max(sizes[d.Files[0].Name], len(d.Files[0].Data))
			}
		}
		return sizes
	}
	small := func(without, with map[string]int, formats int) {
		t.Helper()
		require.Len(t, with, formats)
		for name, size := range with {
			require.LessOrEqual(t, size, 16384, name)
			require.LessOrEqual(t, size-without[name], 600, name)
			require.Greater(t, size, without[name], name)
		}
	}
	without := bytesOf("preinstalled", "ubuntu")
	small(without, bytesOf("download", "ubuntu"), 2)
	lock, err := os.ReadFile(filepath.Join(clusters, "sysext", "cluster.lock.yaml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cluster.lock.yaml"), lock, 0o600))
	small(without, bytesOf("sysext", "flatcar"), 1)
}

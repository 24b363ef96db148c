package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/review"
)

// identity returns what the last line of the machine's list of files says of it.
func identity(n *node.Node) string {
	text := strings.TrimSuffix(string(n.File(node.List).Content), "\n")
	return strings.TrimPrefix(text[strings.LastIndex(text, "\n")+1:], "end ")
}

// TestIdentity: the digest in a machine's document is that of its review twin, whether the twin is
// rendered, read from its folder, or rendered without secrets. A root that was rotated is there
// with its stage.
func TestIdentity(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		config, bundle := inputs(t, name)
		r, err := render.New(config, bundle)
		require.NoError(t, err, name)
		public, err := render.NewPublic(config, &bundle.Public)
		require.NoError(t, err, name)
		files, err := public.Twin(nil)
		require.NoError(t, err, name)
		read, err := review.Read(files)
		require.NoError(t, err, name)
		digests := map[string]bool{}
		for i, m := range read.Machines {
			n, err := r.Node(slices.IndexFunc(r.Plan.Machines, func(p plan.Machine) bool {
				return p.Name == m.Name && p.Pool == m.Pool
			}))
			require.NoError(t, err, name)
			digest, roots, _ := strings.Cut(identity(n), " ")
			require.Equal(t, review.Digest(read.Machines[i]), digest, "%s: %s", name, m.Name)
			for _, f := range bundle.Public.Facts() {
				if root, ok := strings.CutPrefix(f.Name, pki.RotationFact); ok {
					require.Contains(t, roots, root+": "+f.Value, name)
				}
			}
			require.False(t, digests[digest], "%s: two machines have one digest", name)
			digests[digest] = true
		}
	}
}

// TestEdited: a document is edited if a file is not the one in its list, or in no list.
func TestEdited(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		for _, n := range nodes(t, name) {
			n = clone(n)
			require.False(t, review.IsEdited(n), name)
			f := n.File("/etc/kiln/machine")
			f.Content = append(f.Content, ' ')
			require.True(t, review.IsEdited(n), name)
			f.Content = f.Content[:len(f.Content)-1]
			n.Files = append(n.Files, node.File{Path: "/etc/other"})
			require.True(t, review.IsEdited(n), name)
		}
	}
}

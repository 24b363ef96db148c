package render_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln/render"
	"kiln/render/config"
	"kiln/render/plan"
	"kiln/render/twin/change"
)

// TestTokensOfOneName: a node and a pool of the same name join with two tokens, which have
// different names everywhere.
func TestTokensOfOneName(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../testdata/clusters/pools/cluster.yaml")
	require.NoError(t, err)
	c, err := config.Parse("cluster.yaml",
		[]byte(strings.ReplaceAll(string(text), "name: worker-1,", "name: small,")), nil)
	require.NoError(t, err)
	_, b := inputs(t, "pools")
	b.Generations = map[string]int{"token/node/small": 2}
	r, err := render.New(c, b)
	require.NoError(t, err)
	require.NoError(t, r.Try(nil))

	tokens := map[string]bool{}
	for i := range r.Plan.Machines {
		n, err := r.Node(i)
		require.NoError(t, err)
		if f := n.File(plan.BootstrapConf); f != nil {
			_, after, _ := strings.Cut(string(f.Content), "token: ")
			tokens[f.Secret+" "+strings.Fields(after)[0]] = true
		}
	}
	require.Equal(t, map[string]bool{
		"token/small g1 " + b.MachineToken(pool("small")).Bearer():                     true,
		"token/large g1 " + b.MachineToken(pool("large")).Bearer():                     true,
		"token/node/small g2 " + b.MachineToken(&plan.Machine{Name: "small"}).Bearer(): true,
	}, tokens)

	// The public half alone, the bundle and the documents say the same.
	public, err := render.NewPublic(c, &b.Public)
	require.NoError(t, err)
	require.Equal(t, twin(t, r), twin(t, public))
	index := twin(t, r)["cp-1/INDEX"]
	for _, name := range []string{"token/small g1", "token/node/small g2"} {
		require.Contains(t, index, "<secret "+name+">")
		require.Contains(t, index, "secrets/bootstrap-token-<id of "+name+">")
	}
	out := filepath.Join(t.TempDir(), "out")
	_, err = r.Write(out, render.Options{})
	require.NoError(t, err)
	documents, err := render.DocumentsState(out)
	require.NoError(t, err)
	state, err := r.State(nil)
	require.NoError(t, err)
	d := change.Compare(documents, state)
	require.False(t, d.Changed(), d.Text(change.Form{}))
}

// pool returns a pool of that name.
func pool(name string) *plan.Machine { return &plan.Machine{Name: name, Pool: true} }

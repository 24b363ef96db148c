package render_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/patches"
)

// TestStreamIsKustomize: with each step of kiln's own values the static pods, the kubelet's
// configuration and the API objects are what kustomize makes of the same patches.
func TestStreamIsKustomize(t *testing.T) {
	t.Parallel()
	compared := map[string]bool{}
	for _, name := range cases(t) {
		r := load(t, name)
		hold := func(what string, src manifests.Source) {
			if key := string(src.Key()); compared[key] {
				return
			} else {
				compared[key] = true
			}
			last := len(src.Steps())
			steps := []int{last}
			if len(compared)%10 == 1 { // kustomize is slow
				for n := range last {
					steps = append(steps, n)
				}
			}
			for _, n := range steps {
				var list []*patches.Patch
				for i, text := range src.First(n) {
					p, err := patches.New(fmt.Sprint(i), text, nil)
					require.NoError(t, err)
					list = append(list, p)
				}
				want, err := patches.Apply(src.Base, list...)
				require.NoError(t, err)
				got, err := src.Stream(n)
				require.NoError(t, err)
				require.Equal(t, string(want), string(got), "%s: %s, step %d", name, what, n)
			}
		}
		for i := range r.Plan.Machines {
			m := &r.Plan.Machines[i]
			hold("kubelet", manifests.Kubelet(r.Plan, m))
			if r.Plan.StaticPods(m) {
				hold("static pods", manifests.StaticPods(r.Plan, m, r.Public.EtcdCluster()))
			}
		}
		hold("objects", manifests.Objects(r.Plan, nil))
	}
	require.Greater(t, len(compared), 100)
}

package render_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
)

// variations is how many mistakes are refused, and how many correct variations are accepted.
const variations = 200

// seed makes the variations the same in every run.
const seed = 36

// variation is a cluster of one control plane and one worker in which one thing is other than in
// the usual one.
type variation struct {
	name   string
	config map[string]any // below spec
	patch  map[string]any // nil without one
	addon  map[string]any // an object of an add-on; nil without one
}

// TestMutations makes mistakes in patches, settings, add-ons, flags and feature gates: a field or a
// flag that is not there, a value of a wrong type, a container without an image, a gate that is
// locked. Each is refused, with its line. The same places with correct values are accepted.
func TestMutations(t *testing.T) {
	t.Parallel()
	bundle, err := pki.New(pki.Options{
		Name: "mutations", Now: fixture(t).Issued, Algorithm: private.P256,
		CALifetime: 87600 * 3600e9, FormationWindow: 3600e9,
	})
	require.NoError(t, err)
	for _, wrong := range []bool{true, false} {
		for i, v := range varied(wrong) {
			if !*all && i%10 != 0 {
				continue
			}
			kind := map[bool]string{true: "wrong", false: "right"}[wrong]
			t.Run(fmt.Sprintf("%s/%03d", kind, i), func(t *testing.T) {
				t.Parallel()
				err := v.render(t, bundle)
				if !wrong {
					require.NoError(t, err, v.name)
					return
				}
				var problems config.Problems
				require.ErrorAs(t, err, &problems, v.name)
				require.Regexp(t, placed, err.Error(), v.name)
				t.Logf("%s:\n%v", v.name, err)
			})
		}
	}
}

// placed is a problem that names its line.
var placed = regexp.MustCompile(`(?m)^(cluster|addon)\.yaml:[0-9]+(:[0-9]+)?: `)

// varied returns the variations, which differ in their names.
func varied(wrong bool) (out []variation) {
	random := rand.New(rand.NewPCG(seed, map[bool]uint64{true: 1, false: 0}[wrong]))
	made := rightVariations
	if wrong {
		made = wrongVariations
	}
	seen := map[string]bool{}
	for tries := 0; len(out) < variations; tries++ {
		if tries > 100*variations {
			panic(fmt.Sprintf("only %d variations", len(out)))
		}
		v := made[tries%len(made)](random)
		if !seen[v.name] {
			seen[v.name] = true
			out = append(out, v)
		}
	}
	return out
}

// render renders the cluster and checks its machines. The error is of the first stage that has one.
func (v *variation) render(t *testing.T, bundle *pki.Bundle) error {
	spec := map[string]any{
		"kubernetesVersion": "v1.36.3",
		"machines":          map[string]any{"os": "debian", "platform": "nocloud"},
		"nodes": []any{
			map[string]any{
				"name": "cp-1", "role": "control-plane", "addresses": []any{"10.0.0.11"},
			},
			map[string]any{"name": "worker-1", "role": "worker", "addresses": []any{"10.0.0.21"}},
		},
	}
	files := fstest.MapFS{}
	if v.addon != nil {
		text, err := yaml.Marshal(v.addon)
		require.NoError(t, err, v.name)
		files["addon.yaml"] = &fstest.MapFile{Data: text, Mode: 0o600}
		spec["addons"] = []any{map[string]any{"path": "addon.yaml"}}
	}
	for key, value := range v.config {
		spec[key] = value
	}
	if v.patch != nil {
		text, err := yaml.Marshal(v.patch)
		require.NoError(t, err, v.name)
		spec["patches"] = []any{map[string]any{"patch": string(text)}}
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "kiln.dev/v1alpha1", "kind": "Cluster",
		"metadata": map[string]any{"name": "mutations"}, "spec": spec,
	})
	require.NoError(t, err, v.name)
	c, err := config.Parse("cluster.yaml", text, files)
	if err != nil {
		return err
	}
	r, err := render.New(c, bundle)
	if err != nil {
		return err
	}
	for i := range r.Machines() {
		n, err := r.Node(i)
		if err != nil {
			return err
		}
		if err := r.Check(&r.Plan.Machines[i], n); err != nil {
			return err
		}
	}
	return errors.Join()
}

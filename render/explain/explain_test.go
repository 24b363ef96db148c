package explain_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/explain"
	"kiln.dev/kiln/render/folder"
)

var all = flag.Bool("all", false, "look at every case, also at those that are like others")

const clusters = "../../testdata/clusters"

// explainedElsewhere lists the cases whose static pods and objects have no value with an origin
// that no other case shows.
var explainedElsewhere = []string{
	"amazon-linux", "delivery-lean", "delivery-pointer", "delivery-split", "disks", "interfaces",
	"microos",
	"pools", "rsa-ca", "single", "v1.35", "vip",
}

// TestExplainEveryValue: kiln explains each value in every static pod, setting of the API server,
// kubelet configuration and object of every case. The stage that it names last gave exactly the
// value in the file. If files differ in nothing but names and addresses of machines, the first is
// explained. Cases without a setting of their own in these files run in make test-all only.
func TestExplainEveryValue(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(clusters)
	require.NoError(t, err)
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, "invalid-") { // of render/config
			continue
		}
		if !*all && slices.Contains(explainedElsewhere, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := folder.Input{Path: filepath.Join(clusters, name, "cluster.yaml")}
			c, err := render.ConfigPublic(&in)
			require.NoError(t, err)
			bundle, err := os.ReadFile(filepath.Join(clusters, name, "bundle", "secrets.yaml"))
			require.NoError(t, err)
			b, err := pki.Load(bundle)
			require.NoError(t, err)
			r, err := render.NewPublic(c, &b.Public)
			require.NoError(t, err)
			explainer := explain.New(r.Cluster)
			var own []string
			for _, m := range r.Plan.Machines {
				own = append(own, m.Name, "NAME")
				for _, a := range m.Addresses {
					own = append(own, a.String(), "ADDRESS")
				}
			}
			placeholders := strings.NewReplacer(own...)
			values, seen := 0, map[string]bool{}
			for i := range r.Machines() {
				n, err := r.Node(i)
				require.NoError(t, err)
				for j := range n.Files {
					f := &n.Files[j]
					for _, field := range f.From {
						requireField(t, field)
					}
					id := f.Path + placeholders.Replace(string(f.Content))
					if seen[id] || f.Secret != "" || len(f.Shown) > 0 {
						continue
					}
					seen[id] = true
					value, err := explainer.Values(&r.Plan.Machines[i], f)
					require.NoError(t, err, f.Path)
					if value == nil {
						continue
					}
					var doc any
					require.NoError(t, yaml.Unmarshal(f.Content, &doc), f.Path)
					values += requireExplained(t, "", doc, func(key string) *config.Setting {
						s, err := value(key)
						require.NoError(t, err, "%s %s:%s", n.Name, f.Path, key)
						return s
					})
				}
			}
			require.Greater(t, values, 100)
		})
	}
}

// requireExplained holds the explanation of every scalar below a path to its value, and returns the
// number of scalars.
func requireExplained(
	t *testing.T, at string, value any, explain func(key string) *config.Setting,
) (count int) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			count += requireExplained(t, strings.TrimPrefix(at+"."+key, "."), below, explain)
		}
	case []any:
		for i, below := range v {
			count += requireExplained(t, fmt.Sprintf("%s[%d]", at, i), below, explain)
		}
	default:
		given := explain(at).Given
		require.NotEmpty(t, given, at)
		require.False(t, given[0].Absent, at)
		require.Equal(t, asJSON(t, value), asJSON(t, given[0].Value), at)
		require.NotEmpty(t, given[0].Place.String(), at)
		requireField(t, given[0].Place.Field)
		return 1
	}
	return count
}

// requireField holds a path to be a field of cluster.yaml, an entry of a field, or a setting
// without a layer.
func requireField(t *testing.T, path string) {
	t.Helper()
	if path == "" {
		return
	}
	for _, field := range []string{
		path, "machines." + path, path[:max(0, strings.LastIndexByte(path, '.'))],
	} {
		if _, ok := config.Field(field); ok && field != "" {
			return
		}
	}
	require.Fail(t, "no field of cluster.yaml", path)
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}

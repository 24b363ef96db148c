package kinds

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/text/yamltext"
)

// TestRules: every rule is one of a field that a type has.
func TestRules(t *testing.T) {
	t.Parallel()
	for key := range rules {
		typ, field, _ := strings.Cut(key, " ")
		require.NotEmpty(t, fields().types[typ][field], key)
	}
	for typ, names := range required {
		for _, name := range names {
			require.NotEmpty(t, fields().types[typ][name], "%s %s", typ, name)
		}
	}
	for name := range documents {
		known := false
		for is := range fields().kinds {
			known = known || is.name == name
		}
		require.True(t, known, name)
	}
}

// TestFieldRules: each rule of a field refuses and accepts what its file in testdata/kinds says,
// and each has a pair of values there. The files of the kubelet and of kube-proxy have whole
// configurations, because their own code judges these too.
func TestFieldRules(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		file     string
		rules    map[string]Rule
		required map[string][]string
	}{
		{"workload.yaml", workloadRules, workloadRequired},
		{"object.yaml", objectRules, objectRequired},
		{"settings.yaml", settingRules, settingRequired},
	} {
		t.Run(row.file, func(t *testing.T) {
			t.Parallel()
			shown := map[string]bool{}
			for _, typ := range readPairs(t, row.file) {
				for _, p := range typ.Pairs {
					check := func(values map[string]any) []mistake {
						whole := maps.Clone(typ.With)
						if whole == nil {
							whole = map[string]any{}
						}
						maps.Copy(whole, values)
						w := &walk{table: fields(), minor: 36}
						w.structure(whole, typ.Type, &yamltext.Location{})
						return w.found
					}
					require.Empty(t, check(p.Accepted), "%s, accepted: %v", typ.Type, p.Accepted)
					found := check(p.Refused)
					require.Len(t, found, 1, "%s, refused: %v", typ.Type, p.Refused)
					require.NotContains(t, found[0].message, "no such field")
					field, missing := strings.CutSuffix(found[0].message, " is missing")
					if !missing {
						field = found[0].at.String()
					}
					require.Contains(t, p.Refused, field, "%s", typ.Type)
					shown[missingRow(missing)+typ.Type+" "+field] = true
				}
			}
			for key := range row.rules {
				require.True(t, shown[key], "%s refuses nothing in %s", key, row.file)
			}
			for typ, names := range row.required {
				for _, name := range names {
					require.True(t, shown[missingRow(true)+typ+" "+name],
						"%s needs no %s in %s", typ, name, row.file)
				}
			}
		})
	}
}

// missingRow tells the rows of required fields from the rules of their values.
func missingRow(missing bool) string {
	if missing {
		return "required "
	}
	return ""
}

// typePairs are pairs of values of one type of fields.txt.
type typePairs struct {
	Type  string         `json:"type"`
	With  map[string]any `json:"with"` // the fields of each pair
	Pairs []struct {
		Refused  map[string]any `json:"refused"`
		Accepted map[string]any `json:"accepted"`
	} `json:"pairs"`
}

func readPairs(t *testing.T, file string) []typePairs {
	t.Helper()
	text, err := os.ReadFile("../../../testdata/kinds/" + file)
	require.NoError(t, err)
	data, err := yaml.YAMLToJSONStrict(text)
	require.NoError(t, err)
	all, ok := Decode[[]typePairs](data)
	require.True(t, ok)
	return *all
}

package patches

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// TestMarshal: the result is that of kustomize's own AsYaml, in the same bytes.
func TestMarshal(t *testing.T) {
	t.Parallel()
	fs := filesys.MakeFsInMemory()
	require.NoError(t, fs.WriteFile("kustomization.yaml", []byte("resources: [a.yaml]\n")))
	require.NoError(t, fs.WriteFile("a.yaml", []byte(`
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {}}
data:
  date: 2026-11-22
  time: "2026-11-22T10:00:00Z"
  "true": "yes"
  "010": !!str 010
  octal: "0644"
  float: "1e3"
  lines: |
    one
      two
  trailing: "blank \n"
  unicode: "\u2028 \x07 é"
  anchor: &a value
  alias: *a
binaryData: {b: !!binary aGVsbG8=}
---
apiVersion: example.com/v1
kind: Numbers
metadata: {name: n}
spec:
  list: [0, -1, 0644, 0x10, 9223372036854775807, 9223372036854775808, 18446744073709551616]
  more: [1.0, 1.5, -0.0, 1e3, 1e21, 1e-7, .5, 12345678901234567890.5]
  other: [true, null, ~, "", {}, [], on, "null", 2026-11-22, 2026-11-22T10:00:00Z]
`)))
	resources, err := kustomize(fs, ".")
	require.NoError(t, err)
	want, err := resources.AsYaml()
	require.NoError(t, err)
	got, err := marshal(resources)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

package manifests_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/manifests"
)

func TestImages(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, object string
		want         []manifests.Image
	}{
		{"a pod", `
kind: Pod
spec:
  initContainers: [{name: a, image: "a:1"}]
  containers: [{name: b, image: "b:1", imagePullPolicy: Always}, {name: c}]
  ephemeralContainers: [{name: d, image: "d:1"}]
  volumes:
  - {name: e, image: {reference: "e:1", pullPolicy: Always}}
  - {name: f, emptyDir: {}}
`, []manifests.Image{{"b", "b:1", true}, {"d", "d:1", false},
			{"a", "a:1", false}, {"e", "e:1", true}}},
		{"the tag latest", `
kind: Pod
spec:
  containers:
  - {name: a, image: a}
  - {name: b, image: "r.test:5000/b:latest@sha256:0"}
  - {name: c, image: "r.test:5000/c@sha256:0"}
  - {name: d, image: d, imagePullPolicy: Never}
`, []manifests.Image{
			{"a", "a", true}, {"b", "r.test:5000/b:latest@sha256:0", true},
			{"c", "r.test:5000/c@sha256:0", false}, {"d", "d", false},
		}},
		{"a template in a template", `
kind: CronJob
spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: "a:1"}]}}}}}
`, []manifests.Image{{"a", "a:1", false}}},
		{"a custom resource", `
kind: Rollout
spec:
  image: not:listed
  parts: [{template: {spec: {containers: [{name: a, image: "a:1"}]}}}]
`, []manifests.Image{{"a", "a:1", false}}},
		{"other values under these keys", `
kind: ConfigMap
data: {containers: "no", volumes: "no"}
initContainers: [no, {image: 5}]
`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := manifests.Images([]byte(row.object))
			require.NoError(t, err)
			require.Equal(t, row.want, got)
		})
	}
	_, err := manifests.Images([]byte("a: b: c"))
	require.Error(t, err)
}

// TestWithImages: only references change, and the bytes stay if none does.
func TestWithImages(t *testing.T) {
	t.Parallel()
	const object = `# a comment
kind: Job
metadata: {name: a, annotations: {big: "18446744073709551615", old: "on"}}
spec:
  number: 9007199254740993
  template:
    spec:
      containers: [{name: b, image: "b:1"}]
      volumes: [{name: c, image: {reference: "c:1"}}]
`
	same, err := manifests.WithImages([]byte(object), func(i manifests.Image) string {
		return i.Reference
	})
	require.NoError(t, err)
	require.Equal(t, object, string(same))
	other, err := manifests.WithImages([]byte(object), func(i manifests.Image) string {
		return i.Reference + "@" + i.User
	})
	require.NoError(t, err)
	require.Equal(t, `kind: Job
metadata:
  annotations:
    big: "18446744073709551615"
    old: "on"
  name: a
spec:
  number: 9007199254740993
  template:
    spec:
      containers:
      - image: b:1@b
        name: b
      volumes:
      - image:
          reference: c:1@c
        name: c
`, string(other))
	_, err = manifests.WithImages([]byte("a: b: c"), nil)
	require.Error(t, err)
}

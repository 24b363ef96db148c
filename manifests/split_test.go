package manifests_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/manifests"
)

// TestReadDivided: no object of a stream gets lost, whatever ends its lines and whatever stands
// behind the marks of documents. Who looks for Secrets sees all of them.
func TestReadDivided(t *testing.T) {
	t.Parallel()
	const first = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
	const second = "{apiVersion: v1, kind: Secret, metadata: {name: b}}"
	for name, stream := range map[string]string{
		"behind the mark":    "--- " + first + "\n--- " + second + "\n",
		"behind a tab":       first + "\n---\t" + second,
		"lines of Windows":   first + "\r\n---\r\n" + second + "\r\n",
		"an old Macintosh":   first + "\r---\r" + second + "\r",
		"a break of Unicode": first + "\u2028---\u2028" + second,
		"an end":             first + "\n...\n" + second,
	} {
		objects, err := manifests.Read([]byte(stream))
		require.NoError(t, err, name)
		require.Len(t, objects, 2, name)
		require.True(t, objects[1].Secret, name)
	}
}

// TestReadNumbers: a name may be written as a number, as for the API server's own client.
func TestReadNumbers(t *testing.T) {
	t.Parallel()
	objects, err := manifests.Read([]byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: 5}}"))
	require.NoError(t, err)
	require.Equal(t, "/api/v1/namespaces/default/configmaps/5", objects[0].Path)
}

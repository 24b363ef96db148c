package yamltext_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/text/yamltext"
)

// TestMessage: no message of the parser holds a value of the document.
func TestMessage(t *testing.T) {
	t.Parallel()
	for _, document := range []string{
		"password: *Hunter2\n", "password: !!int Hunter2\n",
		"password: !!float Hunter2 and `more`\n",
		"password: !!bool Hunter2\n", "stringData: {~: Hunter2}\n",
		"stringData: {{Hunter2: x}: y}\n", "stringData: {[a, Hunter2]: y, ~: x}\n",
	} {
		var out any
		err := yaml.UnmarshalStrict([]byte(document), &out)
		require.Error(t, err, document)
		require.Contains(t, err.Error(), "Hunter2")
		require.NotContains(t, yamltext.Message(err), "Hunter2")
		require.Regexp(t, "a value|a key", yamltext.Message(err))
	}
}

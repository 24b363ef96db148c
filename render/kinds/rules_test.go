package kinds

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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

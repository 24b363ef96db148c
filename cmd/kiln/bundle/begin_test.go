package bundle_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln/cmd/kiln/bundle"
	"kiln/pki"
)

// TestSaveTwice: of two first renders at once, the second one keeps the bundle of the first, and
// says so.
func TestSaveTwice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "prod.secrets.yaml")
	save := func() error {
		b, err := pki.New(pki.Options{Name: "prod", Now: time.Now(), CALifetime: time.Hour,
			FormationWindow: time.Hour, Algorithm: pki.P256})
		require.NoError(t, err)
		f := bundle.File{Bundle: b, Path: path, New: true}
		return f.Save()
	}
	require.NoError(t, save())
	require.EqualError(t, save(), path+": another run of kiln has made it meanwhile; "+
		"render again, with that bundle")
}

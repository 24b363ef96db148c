package vault_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/test/need"
)

// TestSaveTwice: of two first renders at once, the second one keeps the bundle of the first, and
// says so.
func TestSaveTwice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "prod.secrets.yaml")
	save := func() error {
		f := vault.File{Bundle: newBundle(t), Path: path, New: true}
		return f.Save()
	}
	require.NoError(t, save())
	require.EqualError(t, save(), path+": another run of kiln has made it meanwhile; "+
		"render again, with that bundle")
}

// TestBundleOfAnotherUser: a bundle that another user can change is refused.
func TestBundleOfAnotherUser(t *testing.T) {
	t.Parallel()
	need.Right(t, "root")
	path := filepath.Join(t.TempDir(), "demo.secrets.yaml")
	f := vault.File{Bundle: newBundle(t), Path: path, New: true}
	require.NoError(t, f.Save())
	source := vault.Source{Secrets: path}
	_, err := source.Read()
	require.NoError(t, err)
	require.NoError(t, os.Chown(path, 65534, 65534))
	_, err = source.Read()
	require.ErrorContains(t, err, "belongs to another user")
}

func newBundle(t *testing.T) *pki.Bundle {
	t.Helper()
	b, err := pki.New(pki.Options{Name: "demo", Now: time.Now(), CALifetime: time.Hour,
		FormationWindow: time.Hour, Algorithm: private.P256})
	require.NoError(t, err)
	return b
}

// TestLostKeys: a snapshot from before the drop of an encryption key needs the bundle from then.
func TestLostKeys(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b, err := pki.New(pki.Options{Name: "prod", Now: at.AddDate(0, -1, 0), CALifetime: time.Hour,
		FormationWindow: time.Hour, Algorithm: private.P256})
	require.NoError(t, err)
	f := vault.File{Bundle: b}
	const (
		old   = "cp-1:/b/etcd-cp-1-20260201T020000Z.db"
		young = "cp-1:/b/etcd-cp-1-20260401T020000Z.db"
	)
	require.Empty(t, f.LostKeys(old))
	require.NoError(t, b.Rotate(pki.RootEncryption, at, time.Hour))
	require.NoError(t, b.NextStage(pki.RootEncryption, at))
	require.Empty(t, f.LostKeys(old), "both keys are there")
	require.NoError(t, b.NextStage(pki.RootEncryption, at))
	require.Contains(t, f.LostKeys(old)[0],
		"before g2, which the bundle has no longer, for it was taken before 2026-03-01")
	require.Empty(t, f.LostKeys(young))
	require.Contains(t, f.LostKeys("cp-1:/b/mine.db")[0], "if it was taken before")
	require.NoError(t, b.Rotate(pki.RootEncryption, at, time.Hour))
	require.Contains(t, f.LostKeys(young)[0], "if it was taken before")
}

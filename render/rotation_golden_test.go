package render_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/twin/change"
)

const rotations = "../testdata/rotations"

// TestRotationGoldens: what a reviewer sees while roots are rotated is the golden file, byte for
// byte the same from the bundle and from its public half. The documents give the same state.
func TestRotationGoldens(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(changes, "pools.yaml"))
	require.NoError(t, err)
	c, err := config.Parse("cluster.yaml", text, nil)
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(changes, "secrets.yaml"))
	require.NoError(t, err)
	stages := rotated(t, data)
	for name, positions := range map[string]map[pki.Root]int{
		"ca-trust":   {pki.RootCA: 1},
		"ca-issue":   {pki.RootCA: 2},
		"ca-dropped": {pki.RootCA: 3},
		"all": {pki.RootCA: 2, pki.RootEtcdCA: 1, pki.RootFrontProxyCA: 2,
			pki.RootServiceAccount: 1, pki.RootEncryption: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := inStages(t, data, stages, positions)
			r, err := render.New(c, b)
			require.NoError(t, err)
			dir := t.TempDir()
			review, out := filepath.Join(dir, "review"), filepath.Join(dir, "out")
			_, err = r.Write(out, render.Options{Review: review})
			require.NoError(t, err)
			half, err := render.NewPublic(c, &b.Public)
			require.NoError(t, err)
			requireTwin(t, half, review)

			twin := files(t, review)
			var got strings.Builder
			for _, path := range slices.Sorted(maps.Keys(twin)) {
				if filepath.Base(path) == render.IndexFile {
					got.WriteString("== " + path + "\n" + string(twin[path]))
				}
			}
			golden := filepath.Join(rotations, name+".txt")
			if *update {
				require.NoError(t, os.MkdirAll(rotations, 0o755))
				require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err, "make golden")
			require.Equal(t, string(want), got.String(), "%s; make golden rewrites it", golden)

			documents, err := render.DocumentsState(out)
			require.NoError(t, err)
			state, err := render.FilesState(twin)
			require.NoError(t, err)
			d := change.Compare(documents, state)
			require.False(t, d.Changed(), d.Text(change.Form{}))
		})
	}
}

// files returns the files below a folder by their paths in it.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			all[name], err = os.ReadFile(path)
		}
		return err
	}))
	return all
}

// inStages returns the bundle with each root where it is after so many stages.
func inStages(
	t *testing.T, data []byte, stages map[pki.Root][]*pki.Bundle, positions map[pki.Root]int,
) *pki.Bundle {
	t.Helper()
	b, err := pki.Load(data)
	require.NoError(t, err)
	b.Rotations, b.NextKeys = map[pki.Root]*pki.Rotation{}, map[pki.Root]private.Key{}
	for root, n := range positions {
		at := stages[root][n]
		b.Rotations[root] = at.Rotations[root]
		if key, ok := at.NextKeys[root]; ok {
			b.NextKeys[root] = key
		}
		switch root {
		case pki.RootCA:
			b.CA, b.CAKey = at.CA, at.CAKey
		case pki.RootEtcdCA:
			b.EtcdCA, b.EtcdCAKey = at.EtcdCA, at.EtcdCAKey
		case pki.RootFrontProxyCA:
			b.FrontProxyCA, b.FrontProxyCAKey = at.FrontProxyCA, at.FrontProxyCAKey
		case pki.RootServiceAccount:
			b.ServiceAccountKey = at.ServiceAccountKey
		case pki.RootEncryption:
			b.EncryptionKey, b.NextEncryptionKey = at.EncryptionKey, at.NextEncryptionKey
		}
	}
	text, err := b.Marshal()
	require.NoError(t, err)
	b, err = pki.Load(text)
	require.NoError(t, err)
	return b
}

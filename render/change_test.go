package render_test

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/patches"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/test/golden"
)

const changes = "../testdata/changes"

// changeCase is a row of testdata/changes/cases.yaml.
type changeCase struct {
	Name  string `json:"name"`
	About string `json:"about"`
	Of    string `json:"of"` // the configuration, if it is not cluster.yaml
	// Twin is an archive of the older state, if another kiln made it.
	Twin        string               `json:"twin"`
	Edit        []any                `json:"edit"`
	Generations map[string]int       `json:"generations"`
	Issued      time.Time            `json:"issued"`
	Restore     string               `json:"restore"`
	Extended    time.Time            `json:"extended"` // the end of the install credential
	Renewed     time.Time            `json:"renewed"`
	Renewals    map[string]time.Time `json:"renewals"`
	// Tokens are the times at which tokens of pools were renewed, one after the other.
	Tokens map[string][]time.Time `json:"tokens"`
	Force  []string               `json:"force"` // refusals to override
	// Before and Rotate are how many stages a root has gone through in the older and newer state.
	Before map[pki.Root]int `json:"before"`
	Rotate map[pki.Root]int `json:"rotate"`
	// Begun is when a root of the newer state was made that is another one than the older state's.
	Begun       map[pki.Root]time.Time `json:"begun"`
	Authorities bool                   `json:"authorities"` // other CAs
}

// TestChanges: kiln diff and kiln plan say of every case what the golden files beside it say.
func TestChanges(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(changes, "cases.yaml"))
	require.NoError(t, err)
	var list []changeCase
	require.NoError(t, yaml.UnmarshalStrict(data, &list))
	require.GreaterOrEqual(t, len(list), 25)

	path := filepath.Join(changes, "secrets.yaml")
	bundle, err := os.ReadFile(path)
	if os.IsNotExist(err) && *update {
		text, err2 := os.ReadFile(filepath.Join(changes, "cluster.yaml"))
		require.NoError(t, err2)
		c, err2 := config.Parse("cluster.yaml", text, nil)
		require.NoError(t, err2)
		bundle, err = newFixture(path, c)
	}
	require.NoError(t, err)

	stages := rotated(t, bundle)
	var before golden.Shared[*change.Cluster] // by its configuration and stages
	names := map[string]bool{}
	for _, row := range list {
		require.False(t, names[row.Name], row.Name)
		names[row.Name] = true
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			key := fmt.Sprint(row.Of, row.Twin, row.Before)
			old := before.Of(t, key, func() (*change.Cluster, error) {
				if row.Twin != "" {
					return render.FilesState(archived(t, filepath.Join(changes, row.Twin)))
				}
				return state(t, bundle, stages, &changeCase{Of: row.Of, Rotate: row.Before}), nil
			})
			d := change.Compare(old, state(t, bundle, stages, &row))
			p, err := rollout.New(d, rollout.Options{MaxUnavailable: "10%", Force: row.Force})
			require.NoError(t, err)
			require.NotContains(t, p.Text(change.Form{}), "secrets extend",
				"a running cluster must not be formed again")
			for name, got := range map[string]string{
				"diff.txt": d.Text(change.Form{}), "plan.txt": p.Text(change.Form{}),
			} {
				path := filepath.Join(changes, row.Name, name)
				if *update {
					require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
					require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
					continue
				}
				want, err := os.ReadFile(path)
				require.NoError(t, err, "make golden")
				require.Equal(t, string(want), got, "%s; make golden rewrites it", path)
			}
		})
	}
	dirs, err := os.ReadDir(changes)
	require.NoError(t, err)
	for _, d := range dirs {
		require.True(t, !d.IsDir() || names[d.Name()], "%s is no case", d.Name())
	}
}

// archived returns the files of an archive by their paths.
func archived(t *testing.T, path string) map[string][]byte {
	t.Helper()
	packed, err := os.Open(path)
	require.NoError(t, err)
	defer packed.Close()
	text, err := gzip.NewReader(packed)
	require.NoError(t, err)
	files := map[string][]byte{}
	for r := tar.NewReader(text); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		if h.Typeflag == tar.TypeReg {
			files[filepath.Clean(h.Name)], err = io.ReadAll(r)
			require.NoError(t, err)
		}
	}
}

// rotated returns the bundle after each stage of each root, from none to the drop. The new roots
// are in a bundle of their own, since they are random.
func rotated(t *testing.T, bundle []byte) map[pki.Root][]*pki.Bundle {
	t.Helper()
	path := filepath.Join(changes, "rotation.yaml")
	when := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) && *update {
		b, err2 := pki.Load(bundle)
		require.NoError(t, err2)
		for _, root := range pki.Roots() {
			require.NoError(t, b.Rotate(root, when, decade))
		}
		text, err = b.Marshal()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, text, 0o644))
	}
	require.NoError(t, err)
	stages := map[pki.Root][]*pki.Bundle{}
	for _, root := range pki.Roots() {
		before, err := pki.Load(bundle)
		require.NoError(t, err)
		stages[root] = []*pki.Bundle{before}
		for i := range 3 {
			b, err := pki.Load(text)
			require.NoError(t, err)
			for range i {
				if root.Staged() {
					require.NoError(t, b.NextStage(root, when.AddDate(0, 0, 7*i)))
				}
			}
			stages[root] = append(stages[root], b)
		}
	}
	return stages
}

// state returns the state of a case's cluster.
func state(
	t *testing.T, bundle []byte, stages map[pki.Root][]*pki.Bundle, row *changeCase,
) *change.Cluster {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(changes, cmp.Or(row.Of, "cluster.yaml")))
	require.NoError(t, err)
	if len(row.Edit) > 0 {
		edit, err := yaml.Marshal(row.Edit)
		require.NoError(t, err)
		patch, err := patches.New(row.Name, string(edit), &patches.Target{Kind: "Cluster"})
		require.NoError(t, err)
		text, err = patches.Apply(text, patch)
		require.NoError(t, err)
	}
	c, err := config.Parse("cluster.yaml", text, nil)
	require.NoError(t, err)
	b := inStages(t, bundle, stages, row.Rotate)
	for root, at := range row.Begun {
		b.Rotations[root].Begun = at
	}
	b.Generations = row.Generations
	if row.Authorities {
		b.CA = stages[pki.RootCA][3].CA
	}
	if !row.Issued.IsZero() {
		b.Issued = row.Issued
	}
	if !row.Extended.IsZero() {
		b.ExtendInstall(row.Extended)
	}
	b.Renewed, b.Renewals = row.Renewed, row.Renewals
	for pool, times := range row.Tokens {
		for _, m := range plan.New(c).Machines {
			for _, at := range times {
				if m.Pool && m.Name == pool {
					require.NoError(t, b.RenewTokens(at, false, &m))
				}
			}
		}
	}
	if row.Restore != "" {
		b.Restore(row.Restore, b.FormationDeadline)
	}
	r, err := render.NewPublic(c, &b.Public)
	require.NoError(t, err)
	if row.Restore != "" {
		require.NoError(t, r.Restore(row.Restore))
	}
	out, err := r.State(nil)
	require.NoError(t, err)
	return out
}

// TestDocumentsState: the documents of a cluster and its twin give the same state. Two facts are in
// no document, and they are no difference: the generation of a CA whose key is on no machine, and
// the operator's kubeconfig.
func TestDocumentsState(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := load(t, name)
			out := filepath.Join(t.TempDir(), "out")
			_, err := r.Write(out, render.Options{})
			if err != nil {
				require.Regexp(t, "(aws takes 16384|hetzner takes 32768);", err.Error())
				t.Skip("its documents do not fit their platform")
			}
			documents, err := render.DocumentsState(out)
			require.NoError(t, err)
			twin, err := render.FilesState(sharedTwin(t, name))
			require.NoError(t, err)
			for _, d := range []*change.Diff{
				change.Compare(documents, twin), change.Compare(twin, documents),
			} {
				require.False(t, d.Changed(), d.Text(change.Form{}))
			}
		})
	}
}

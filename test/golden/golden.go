// Package golden gives tests the golden clusters, each rendered once for all tests of a package.
package golden

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/folder"
)

// All makes the tests look at everything. Without it they look at one of several that are alike.
// make test-all sets it.
var All = flag.Bool("all", false,
	"look at every machine and case, also at those that are like others")

// Shared makes a value for the first test that asks for it, and returns it to all others.
type Shared[T any] struct{ made sync.Map }

// Of returns the value of a key, and makes it if it is the first to ask.
func (s *Shared[T]) Of(t testing.TB, key any, make func() (T, error)) T {
	t.Helper()
	once, _ := s.made.LoadOrStore(key, sync.OnceValues(make))
	v, err := once.(func() (T, error))()
	require.NoError(t, err)
	return v
}

var (
	clusters Shared[*render.Cluster]
	machines Shared[[]*node.Node]
)

// Clusters returns the folder of the golden clusters, as seen from the folder of a package. Those
// whose names begin with invalid- are wrong ones.
var Clusters = sync.OnceValue(func() string {
	dir := filepath.Join("testdata", "clusters")
	for range 9 {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Join("..", dir)
	}
	return dir
})

// Cases returns the names of the golden clusters, without the wrong ones.
func Cases(t testing.TB) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(Clusters())
	require.NoError(t, err)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "invalid-") {
			out = append(out, e.Name())
		}
	}
	return out
}

// Inputs returns the configuration and the bundle of a case.
func Inputs(name string) (*config.Cluster, *pki.Bundle, error) {
	dir := filepath.Join(Clusters(), name)
	c, err := render.Config(&folder.Input{Path: filepath.Join(dir, "cluster.yaml")})
	if err != nil {
		return nil, nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "bundle", "secrets.yaml"))
	if err != nil {
		return nil, nil, err
	}
	b, err := pki.Load(data)
	return c, b, err
}

// Load returns a golden case ready to be rendered. It is shared: a test that changes it takes
// Fresh.
func Load(t testing.TB, name string) *render.Cluster {
	t.Helper()
	return clusters.Of(t, name, func() (*render.Cluster, error) {
		c, b, err := Inputs(name)
		if err != nil {
			return nil, err
		}
		r, err := render.New(c, b)
		if err == nil {
			watched.add("the plan of "+name, r.Plan)
			watched.add("the bundle of "+name, r.Bundle)
		}
		return r, err
	})
}

// Fresh returns a golden case that a test may change.
func Fresh(t testing.TB, name string) *render.Cluster {
	t.Helper()
	c, b, err := Inputs(name)
	require.NoError(t, err)
	r, err := render.New(c, b)
	require.NoError(t, err)
	return r
}

// Nodes returns the machines of a golden case. They are shared: a test that changes one takes a
// Clone of it.
func Nodes(t testing.TB, name string) []*node.Node {
	t.Helper()
	r := Load(t, name)
	return machines.Of(t, name, func() ([]*node.Node, error) {
		out := make([]*node.Node, r.Machines())
		for i := range out {
			var err error
			if out[i], err = r.Node(i); err != nil {
				return nil, err
			}
			watched.add("machine "+out[i].Name+" of "+name, out[i])
		}
		return out, nil
	})
}

// UnlikeNodes returns those machines of a golden case that differ in more than names and addresses:
// in which files they have, for whom, why and with which secrets. Most checks of one control plane
// say nothing new about the next.
func UnlikeNodes(t testing.TB, name string) (out []*node.Node) {
	t.Helper()
	r := Load(t, name)
	seen := map[string]bool{}
	for i, n := range Nodes(t, name) {
		m := &r.Plan.Machines[i]
		like := fmt.Sprintln(n.Role, m.System.Name, m.Pool, len(n.Extra) > 0,
			len(n.CloudConfig) > 0)
		for _, f := range n.Files {
			traits := fmt.Sprintln(f.Path, f.Mode, f.User, f.Why, f.Secret)
			like += strings.ReplaceAll(traits, n.Name, "NAME")
		}
		if !seen[like] || *All {
			out = append(out, n)
		}
		seen[like] = true
	}
	return out
}

// Clone returns a copy of a machine with files that a test may change.
func Clone(n *node.Node) *node.Node {
	out := *n
	out.Dirs, out.Links = slices.Clone(n.Dirs), slices.Clone(n.Links)
	out.Units = slices.Clone(n.Units)
	out.Files = slices.Clone(n.Files)
	for i := range out.Files {
		f := &out.Files[i]
		f.Content, f.Shown = bytes.Clone(f.Content), slices.Clone(f.Shown)
	}
	return &out
}

// watch remembers shared values as they were made.
type watch struct {
	sync.Mutex
	things []watchedThing
}

type watchedThing struct {
	name  string
	thing any
	sum   [sha256.Size]byte
}

var watched watch

func (w *watch) add(name string, thing any) {
	w.Lock()
	defer w.Unlock()
	w.things = append(w.things, watchedThing{name, thing, sum(thing)})
}

// sum returns the hash of a value.
func sum(thing any) [sha256.Size]byte {
	text, err := json.Marshal(thing)
	if err != nil {
		panic(err)
	}
	return sha256.Sum256(text)
}

// Main runs the tests of a package, and fails if one of them changed what others share. A package
// with such tests has it as its TestMain.
func Main(m *testing.M) {
	code := m.Run()
	for _, w := range watched.things {
		if sum(w.thing) != w.sum {
			fmt.Printf("FAIL: a test has changed %s, which others share; it needs Fresh or Clone\n",
				w.name)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

package render_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/facts/node"
)

// all makes the tests look at everything. Without it they look at one of several that are alike.
// make test-all sets it.
var all = flag.Bool("all", false,
	"look at every machine and case, also at those that are like others")

// shared makes a value for the first test that asks for it, and returns it to all others.
type shared[T any] struct{ made sync.Map }

func (s *shared[T]) of(t testing.TB, key any, make func() (T, error)) T {
	t.Helper()
	once, _ := s.made.LoadOrStore(key, sync.OnceValues(make))
	v, err := once.(func() (T, error))()
	require.NoError(t, err)
	return v
}

var (
	sharedClusters  shared[*render.Cluster]
	sharedNodes     shared[[]*node.Node]
	sharedTwins     shared[map[string][]byte]
	sharedDocuments shared[map[string][]byte]
)

// load returns a golden case ready to be rendered. It is shared: a test that changes it takes
// fresh.
func load(t testing.TB, name string) *render.Cluster {
	t.Helper()
	return sharedClusters.of(t, name, func() (*render.Cluster, error) {
		c, b, err := readInputs(name)
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

// fresh returns a golden case that a test may change.
func fresh(t testing.TB, name string) *render.Cluster {
	t.Helper()
	c, b := inputs(t, name)
	r, err := render.New(c, b)
	require.NoError(t, err)
	return r
}

// nodes returns the machines of a golden case. They are shared: a test that changes one takes a
// clone of it.
func nodes(t testing.TB, name string) []*node.Node {
	t.Helper()
	r := load(t, name)
	return sharedNodes.of(t, name, func() ([]*node.Node, error) {
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

// sharedTwin returns the review twin of a golden case. No test may change it.
func sharedTwin(t testing.TB, name string) map[string][]byte {
	t.Helper()
	r, machines := load(t, name), nodes(t, name)
	return sharedTwins.of(t, name, func() (map[string][]byte, error) { return r.TwinOf(machines) })
}

// unlikeNodes returns those machines of a golden case that differ in more than names and addresses:
// in which files they have, for whom, why and with which secrets. Most checks of one control plane
// say nothing new about the next.
func unlikeNodes(t testing.TB, name string) (out []*node.Node) {
	t.Helper()
	r := load(t, name)
	seen := map[string]bool{}
	for i, n := range nodes(t, name) {
		m := &r.Plan.Machines[i]
		like := fmt.Sprintln(n.Role, m.System.Name, m.Pool, len(n.Extra) > 0,
			len(n.CloudConfig) > 0)
		for _, f := range n.Files {
			traits := fmt.Sprintln(f.Path, f.Mode, f.User, f.Why, f.Secret)
			like += strings.ReplaceAll(traits, n.Name, "NAME")
		}
		if !seen[like] || *all {
			out = append(out, n)
		}
		seen[like] = true
	}
	return out
}

// clone returns a copy of a machine with files that a test may change.
func clone(n *node.Node) *node.Node {
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

// TestMain runs the tests, and fails if one of them changed what others share.
func TestMain(m *testing.M) {
	code := m.Run()
	for _, w := range watched.things {
		if sum(w.thing) != w.sum {
			fmt.Printf("FAIL: a test has changed %s, which others share; it needs fresh or clone\n",
				w.name)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

package render_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/twin/change"
)

// hostileAll renders all that Parse accepts, packs every document and writes every difference. It
// takes minutes.
var hostileAll = flag.Bool("hostile", false,
	"render all hostile values, with documents and differences")

// hostileShare says that without this flag one of so many accepted configurations is rendered: each
// value in some fields, each field with some values.
const hostileShare = 8

// hostileValues are values of which each has a meaning for a program on the way: a shell, systemd,
// YAML, a table of columns, a template, a terminal, a file system. A value that is run as a command
// leaves a file called MARK.
var hostileValues = []string{
	"$(touch MARK)", "`touch MARK`", "'; touch MARK; '", `"; touch MARK; "`, "x\ntouch MARK\n",
	"x\rtouch MARK", "a\x1b[2J\x1b]0;pwned\ab", "a|warn|touch MARK|b",
	"%n %i %%s $HOME ${x} \\x", "{{ .Bundle }}", "a\u202egnp.exe", "a\u2028b\u2029c",
	"x\nEOF\ntouch MARK\n", "a: b\nc: [d]", "--- !!python/object x", `a\b`, "a\x00b",
	"../../../etc/passwd", "/etc/../etc/passwd ", "--upload-pack=touch MARK",
	" lead, trail ", "x\n[Service]\nExecStart=/bin/touch MARK\n",
	"https://h.example.com/a,b|c d?ref=$(touch MARK)",
}

// leaf is the place of a string in cluster.yaml: the keys that lead to it, with [] for an element
// of a list, {} for the value of a map and {key} for its key.
type leaf []string

func (l leaf) String() string { return strings.ReplaceAll(strings.Join(l, "."), ".[]", "[]") }

// leaves lists every string that the types of the configuration have. A type that occurs in several
// places is listed once.
func leaves() (list []leaf) {
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type, leaf)
	walk = func(t reflect.Type, at leaf) {
		switch t.Kind() {
		case reflect.Pointer:
			walk(t.Elem(), at)
		case reflect.Slice:
			walk(t.Elem(), append(slices.Clip(at), "[]"))
		case reflect.Map:
			list = append(list, append(slices.Clip(at), "{key}"))
			walk(t.Elem(), append(slices.Clip(at), "{}"))
		case reflect.String, reflect.Interface:
			list = append(list, at)
		case reflect.Struct:
			if seen[t] {
				return
			}
			seen[t] = true
			for i := range t.NumField() {
				f := t.Field(i)
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				switch {
				case f.Anonymous:
					walk(f.Type, at)
				case f.IsExported():
					walk(f.Type, append(slices.Clip(at), name))
				}
			}
		}
	}
	walk(reflect.TypeFor[config.Cluster](), nil)
	return list
}

// with returns doc with another text in the first place that the leaf names; false if doc has none.
func (l leaf) with(doc any, text func(old string) string) (any, bool) {
	if len(l) == 0 {
		old, _ := doc.(string)
		return text(old), true
	}
	switch at := doc.(type) {
	case []any:
		for i := range at {
			if l[0] != "[]" {
				break
			}
			if inner, ok := l[1:].with(at[i], text); ok {
				out := slices.Clone(at)
				out[i] = inner
				return out, true
			}
		}
	case map[string]any:
		out := maps.Clone(at)
		key := l[0]
		if key == "{}" || key == "{key}" {
			key = ""
			if keys := slices.Sorted(maps.Keys(at)); len(keys) > 0 {
				key = keys[0]
			}
		}
		inner, ok := at[key]
		switch {
		case !ok:
			return nil, false
		case l[0] == "{key}":
			delete(out, key)
			out[text(key)] = inner
			return out, true
		}
		if out[key], ok = l[1:].with(inner, text); ok {
			return out, true
		}
	}
	return nil, false
}

// hostileBase is a valid cluster in which values are put.
type hostileBase struct {
	dir     string
	doc     any
	bundle  *pki.Bundle
	machine []*node.Node
	state   *change.Cluster
}

func hostileBases(t *testing.T) (bases []*hostileBase) {
	for _, dir := range []string{
		"hostile/cloud-init", "hostile/ignition", "hostile/fetched",
		"clusters/packages", "clusters/external-etcd",
	} {
		b := &hostileBase{dir: filepath.Join("..", "testdata", dir)}
		text := read(t, filepath.Join(b.dir, "cluster.yaml"))
		require.NoError(t, yaml.Unmarshal([]byte(text), &b.doc))
		name := b.doc.(map[string]any)["metadata"].(map[string]any)["name"].(string)
		var err error
		b.bundle, err = pki.New(pki.Options{
			Name: name, Now: fixture(t).Issued, Algorithm: private.P256,
			CALifetime: 87600 * 3600e9, FormationWindow: 3600e9,
		})
		require.NoError(t, err)
		r, err := b.render(b.parse(t, dir, b.doc))
		require.NoError(t, err, dir)
		for i := range r.Machines() {
			n, err := r.Node(i)
			require.NoError(t, err, dir)
			b.machine = append(b.machine, n)
		}
		b.state, err = r.State(nil)
		require.NoError(t, err)
		bases = append(bases, b)
	}
	return bases
}

// parse reads a configuration; nil if it has problems.
func (b *hostileBase) parse(t *testing.T, name string, doc any) *config.Cluster {
	text, err := yaml.Marshal(doc)
	require.NoError(t, err, name)
	c, err := config.Parse("cluster.yaml", text, os.DirFS(b.dir))
	if err != nil {
		onlyProblems(t, name, err)
	}
	return c
}

// render prepares a cluster for rendering, with a bundle of its name.
func (b *hostileBase) render(c *config.Cluster) (*render.Cluster, error) {
	bundle := *b.bundle
	bundle.Name = c.Metadata.Name
	return render.New(c, &bundle)
}

// TestHostileValues puts each hostile value into each string of cluster.yaml, alone and behind the
// value that the string has. The result is either a problem, in lines that are kiln's own, or a
// cluster in which the value has no meaning for the programs that read the files of the machine.
func TestHostileValues(t *testing.T) {
	t.Parallel()
	bases := hostileBases(t)
	s := &shellRun{dir: t.TempDir(), scripts: map[string]string{}}
	tried, accepted := 0, 0
	for i, l := range leaves() {
		found := false
		for _, b := range bases {
			if _, found = l.with(b.doc, strings.ToUpper); !found {
				continue
			}
			for j, value := range hostileValues {
				for k, text := range []func(string) string{
					func(string) string { return value },
					// What has to begin like a path or a URL, or to be a name, may go on otherwise.
					func(old string) string { return old + value },
				} {
					doc, _ := l.with(b.doc, text)
					tried++
					name := fmt.Sprintf("%s: %q", l, text("…"))
					c := b.parse(t, name, doc)
					if c == nil {
						continue
					}
					accepted++
					if *hostileAll || (i+2*j+k)%hostileShare == 0 {
						b.try(t, name, c, s)
					}
				}
			}
			break
		}
		require.True(t, found,
			"%s has no place in testdata/hostile: add one, to try hostile values there", l)
	}
	t.Logf("%d clusters, %d accepted", tried, accepted)
	require.Greater(t, accepted, tried/50,
		"hardly anything was accepted: the clusters of this test are wrong")
	s.run(t)
}

// try renders one cluster and looks at its machines, unless it is refused on the way.
func (b *hostileBase) try(t *testing.T, name string, c *config.Cluster, s *shellRun) {
	r, err := b.render(c)
	if err != nil {
		onlyProblems(t, name, err)
		return
	}
	for i := range r.Machines() {
		n, err := r.Node(i)
		if err == nil {
			err = r.Check(&r.Plan.Machines[i], n)
		}
		if err == nil && *hostileAll {
			_, err = r.Document(i)
		}
		if err != nil {
			onlyProblems(t, name, err)
			return
		}
		inert(t, name+" on "+n.Name, n, b.machine[min(i, len(b.machine)-1)])
		s.add(name+" on "+n.Name, string(n.File("/etc/kiln/machine").Content))
	}
	if *hostileAll {
		state, err := r.State(nil)
		require.NoError(t, err, name)
		for _, form := range []change.Form{{}, {Markdown: true}} {
			text := change.Compare(b.state, state).Text(form)
			require.False(t, strings.ContainsFunc(text, unseen),
				"%s: a difference with raw characters", name)
		}
	}
}

// onlyProblems holds each line of a list of problems to begin with cluster.yaml: or an indent.
func onlyProblems(t *testing.T, name string, err error) {
	var problems config.Problems
	if !errors.As(err, &problems) {
		return
	}
	for line := range strings.Lines(problems.Error()) {
		require.Regexp(t, `^(cluster\.yaml:|  )`, line, name)
	}
}

package architecture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wing is a part of the program with a name of its own. A package belongs to the wing with the
// longest path that its own begins with.
type wing struct {
	name  string
	paths []string
	// lines is how many lines of Go the wing may have, tests not counted. Whoever raises it lowers
	// another, or writes the reason into docs/scope.md.
	lines int
}

// wings stand in their order from above: each imports only what stands behind it.
var wings = []wing{
	{"cmd", []string{"cmd/kiln"}, 11862},
	{"boot", []string{"cmd/kiln/boot"}, 7216},
	{"vault", []string{"cmd/kiln/vault"}, 4237},
	{"term", []string{"cmd/kiln/term"}, 1378},
	{"fleet", []string{"render/fleet"}, 7346},
	{"driver", []string{"render"}, 1942},
	{"explain", []string{"render/explain"}, 761},
	{"check", []string{"render/check"}, 4503},
	{"twin", []string{"render/twin"}, 4967},
	{"pack", []string{"render/pack"}, 3600},
	{"secret", []string{"render/secret"}, 748},
	{"machine", []string{"render/machine", "manifests", "patches", "templates"}, 12882},
	{"pki", []string{"pki"}, 4346},
	{"plan", []string{"render/plan"}, 1792},
	{"config", []string{"render/config"}, 12714},
	{"facts", []string{"render/facts"}, 2160},
	{"kube", []string{"render/kube"}, 5758},
	{"folder", []string{"render/folder"}, 1796},
	{"text", []string{"render/text"}, 2968},
}

// What the program may have at most.
const (
	maxPackages = 60
	maxChain    = 14 // packages of which each imports the next
)

// walls are imports that the order of wings allows, and that would end what a package promises.
var walls = map[string]struct{ never, why string }{
	"render/check": {"render/machine/assembly", "a check must not ask the maker"},
}

// owners lists for libraries from elsewhere the wings, or the packages, that may import them. All
// other packages of the program may not.
var owners = map[string][]string{
	"filippo.io/age":                {"vault", "config"},
	"github.com/coreos/":            {"render/pack/ignition"},
	"github.com/pelletier/go-toml":  {"render/machine/containerd"},
	"github.com/rogpeppe/go-intern": nil,
	"github.com/spf13/cobra":        {"cmd", "vault", "term"},
	"github.com/spf13/pflag":        {"cmd", "vault", "term", "render/kube/flags"},
	"github.com/stretchr/testify":   nil,
	"k8s.io/client-go":              {"cmd/kiln/apiserver", "render/kube/kinds"},
	"mvdan.cc/sh":                   {"config", "templates"},
	"oras.land/oras-go":             {"cmd/kiln/lock", "cmd/kiln/archive"},
	"sigs.k8s.io/kustomize":         {"patches"},
}

// wingOf returns the number of a package's wing, -1 if it is in none.
func wingOf(path string) int {
	best, longest := -1, 0
	for i := range wings {
		for _, p := range wings[i].paths {
			if (path == p || strings.HasPrefix(path, p+"/")) && len(p) > longest {
				best, longest = i, len(p)
			}
		}
	}
	return best
}

// TestWings: no import runs from a wing to one above it, libraries stay in the wings that own them,
// and no wing exceeds its lines. It prints the wings.
func TestWings(t *testing.T) {
	t.Parallel()
	lines, packages := make([]int, len(wings)), make([]int, len(wings))
	imports := map[string][]string{}
	for _, r := range measure(t) {
		at := wingOf(r.path)
		if at < 0 {
			require.True(t, strings.HasPrefix(r.path, "test/"), "%s is in no wing", r.path)
			continue
		}
		lines[at] += r.lines
		packages[at]++
		for _, imported := range r.imports {
			if to := wingOf(imported); to >= 0 {
				imports[r.path] = append(imports[r.path], imported)
				require.GreaterOrEqual(t, to, at, "%s (%s) must not import %s (%s), which stands "+
					"above it", r.path, wings[at].name, imported, wings[max(to, 0)].name)
			}
			for from, wall := range walls {
				inside := r.path == from || strings.HasPrefix(r.path, from+"/")
				require.False(t, inside && imported == wall.never, "%s must not import %s: %s",
					r.path, imported, wall.why)
			}
			for library, may := range owners {
				if strings.HasPrefix(imported, library) {
					require.True(t, slices.Contains(may, r.path) ||
						slices.Contains(may, wings[at].name),
						"%s must not import %s", r.path, imported)
				}
			}
		}
	}
	sum, count := 0, 0
	for i, w := range wings {
		t.Logf("%-8s %2d packages, %5d of %5d lines", w.name, packages[i], lines[i], w.lines)
		if lines[i] > w.lines {
			t.Errorf("%s has %d lines, and may have %d; lower another wing by as many, or write "+
				"the reason into docs/scope.md", w.name, lines[i], w.lines)
		}
		sum, count = sum+lines[i], count+packages[i]
	}
	chain := longest(imports)
	t.Logf("%d packages, %d lines; the longest chain has %d: %s", count, sum, len(chain),
		strings.Join(chain, " "))
	require.LessOrEqual(t, count, maxPackages, "packages")
	require.LessOrEqual(t, len(chain), maxChain, "packages of which each imports the next")
}

// longest returns the longest chain of packages of which each imports the next.
func longest(imports map[string][]string) []string {
	known := map[string][]string{}
	var from func(path string) []string
	from = func(path string) []string {
		if chain, ok := known[path]; ok {
			return chain
		}
		var below []string
		for _, next := range imports[path] {
			if chain := from(next); len(chain) > len(below) {
				below = chain
			}
		}
		known[path] = append([]string{path}, below...)
		return known[path]
	}
	var best []string
	for path := range imports {
		chain := from(path)
		if c := cmp.Compare(len(chain), len(best)); c > 0 ||
			c == 0 && fmt.Sprint(chain) < fmt.Sprint(best) {
			best = chain
		}
	}
	return best
}

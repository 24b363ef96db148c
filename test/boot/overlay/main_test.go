package main

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ base, over, want string }{
		"maps are merged":       {"{a: {b: 1}}", "{a: {c: 2}, d: 3}", "{a: {b: 1, c: 2}, d: 3}"},
		"a scalar is replaced":  {"{a: 1, b: 2}", "{a: 3}", "{a: 3, b: 2}"},
		"a list grows":          {"{a: [cpus]}", "{a: [cgroup]}", "{a: [cpus, cgroup]}"},
		"no item comes twice":   {"{a: [{b: 1}, c]}", "{a: [c, {b: 1}, d]}", "{a: [{b: 1}, c, d]}"},
		"an absent list comes":  {"{}", "{a: [1]}", "{a: [1]}"},
		"a map takes its place": {"{a: none}", "{a: {b: 1}}", "{a: {b: 1}}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := yaml.Marshal(merge(parse(t, row.base), parse(t, row.over)))
			if err != nil {
				t.Fatal(err)
			}
			want, err := yaml.Marshal(parse(t, row.want))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestWrite: the scripts look for lines such as "  endpoint:" and "  patches:".
func TestWrite(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	document := parse(t, "{spec: {endpoint: a, patches: [{target: {kind: Pod}, patch: x}]}}")
	if err := write(&out, document); err != nil {
		t.Fatal(err)
	}
	const want = "spec:\n  endpoint: a\n  patches:\n  - patch: x\n    target:\n      kind: Pod\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func parse(t *testing.T, text string) (value any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

package main

import (
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text, err string
		want      []string
	}{
		"nothing": {text: `{"machines": [{"machines": ["cp-1"], "verdict": "nothing"}]}`},
		"both": {
			text: `{"steps": [{"do": "replace", "machines": ["cp-1", "cp-2"], "how": ["x"]},
				{"do": "restart", "machines": ["w"], "how": ["kiln apply nodes/w"]},
				{"do": "apply", "how": ["kiln unpack nodes/cp-1 --out objects --show-secrets &&",
				"kubectl apply --server-side --force-conflicts -f objects` +
				`/etc/kiln/objects/012-deployment-coredns.yaml &&",
				"kubectl apply --server-side --force-conflicts -f objects` +
				`/etc/kiln/objects/023-configmap-kiln.yaml", "rm -r objects"]}]}`,
			want: []string{"replace cp-1", "replace cp-2", "restart w",
				"apply 012-deployment-coredns.yaml", "apply 023-configmap-kiln.yaml"},
		},
		"refused": {
			text: `{"refused": [{"name": "stage", "why": "two at once"}]}`, err: "two at once"},
		"remove": {
			text: `{"steps": [{"do": "remove", "machines": ["w"]}]}`, err: "step remove"},
		"delete": {
			text: `{"steps": [{"do": "apply", "how": ["kubectl delete x"]}]}`, err: "delete"},
		"no plan":  {text: "3 machines", err: "not the JSON"},
		"no bytes": {err: "not the JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(strings.NewReader(row.text))
			if (row.err != "") != (err != nil) ||
				err != nil && !strings.Contains(err.Error(), row.err) {
				t.Fatalf("%v, want %q", err, row.err)
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

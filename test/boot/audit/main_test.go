package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestCompare: an object without an event is named, and so is one with another body.
func TestCompare(t *testing.T) {
	t.Parallel()
	const (
		role      = `{"kind":"Role"}`
		roleEvent = `{"level":"Request","verb":"patch",` +
			`"requestURI":"/r?fieldManager=kiln&force=true",` +
			`"requestObject":{"kind":"Role"},"responseStatus":{"code":201}}` + "\n"
		mapEvent = `{"level":"Metadata","verb":"patch",` +
			`"requestURI":"/c?fieldManager=kiln&force=true","responseStatus":{"code":201}}` + "\n"
	)
	for _, row := range []struct {
		name, role, log string
		want            []string
		fails           bool
	}{
		{"all there", role, roleEvent + mapEvent + `{"level":"Met`, nil, false},
		{"an event is lost", role, mapEvent,
			[]string{"/r: applied, and not in the audit log"}, false},
		{"another body", `{"kind":"Rule"}`, roleEvent + mapEvent,
			[]string{"/r: the audit log has another body"}, false},
		{"YAML", "kind: Role\n", roleEvent + mapEvent,
			[]string{"/r: the audit log has another body"}, false},
		{"no bodies", role, mapEvent + `{"level":"Metadata","verb":"patch",` +
			`"requestURI":"/r?fieldManager=kiln","responseStatus":{"code":200}}` + "\n", nil, true},
		{"no JSON", role, "text\n", nil, true},
	} {
		folder := t.TempDir()
		for name, text := range map[string]string{"index": "/r\tr.yaml\n/c\tc.yaml\n",
			"r.yaml": row.role, "c.yaml": "{}", "log": row.log} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := compare(folder, filepath.Join(folder, "log"))
		if (err != nil) != row.fails || !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, %v; want %q", row.name, got, err, row.want)
		}
	}
}

package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRevision: the commit and its date are said where the build knows them.
func TestRevision(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		settings []debug.BuildSetting
		want     origin
	}{
		{"no version control", []debug.BuildSetting{{Key: "GOOS", Value: "linux"}}, origin{}},
		{"a commit", []debug.BuildSetting{{Key: "vcs", Value: "git"},
			{Key: "vcs.revision", Value: "911f4096"}, {Key: "vcs.modified", Value: "false"},
			{Key: "vcs.time", Value: "2026-11-27T03:04:05Z"}},
			origin{Commit: "911f4096", Date: "2026-11-27T03:04:05Z"}},
		{"changed files", []debug.BuildSetting{{Key: "vcs.modified", Value: "true"},
			{Key: "vcs.revision", Value: "911f4096"}},
			origin{Commit: "911f4096", Modified: true}},
		{"no commit yet", []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}, origin{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := origin{}
			got.addRevision(row.settings)
			require.Equal(t, row.want, got)
		})
	}
}

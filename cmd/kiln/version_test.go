package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRevision: the commit is said where the build knows it.
func TestRevision(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		settings []debug.BuildSetting
		commit   string
		modified bool
	}{
		{"no version control", []debug.BuildSetting{{Key: "GOOS", Value: "linux"}}, "", false},
		{"a commit", []debug.BuildSetting{{Key: "vcs", Value: "git"},
			{Key: "vcs.revision", Value: "911f4096"}, {Key: "vcs.modified", Value: "false"}},
			"911f4096", false},
		{"changed files", []debug.BuildSetting{{Key: "vcs.modified", Value: "true"},
			{Key: "vcs.revision", Value: "911f4096"}}, "911f4096", true},
		{"no commit yet", []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}, "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			commit, modified := revision(row.settings)
			require.Equal(t, row.commit, commit)
			require.Equal(t, row.modified, modified)
		})
	}
}

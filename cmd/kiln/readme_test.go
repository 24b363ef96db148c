package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadme types what the README's console blocks show, in one folder and in their order, and holds the answers to
// what stands there. Numbers and dates may differ.
func TestReadme(t *testing.T) {
	t.Parallel()
	bin := filepath.Dir(build(t))
	dir := t.TempDir()
	typed := 0
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(read(t, "../../README.md"), -1) {
		var command, want string
		check := func() {
			if command == "" {
				return
			}
			typed++
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			out, _ := cmd.CombinedOutput()
			require.Equal(t, numberless(want), numberless(string(out)), command)
		}
		for line := range strings.Lines(block[1]) {
			line = strings.TrimPrefix(line, "   ") // the block stands in a list
			if next, ok := strings.CutPrefix(line, "$ "); ok {
				check()
				command, want = strings.TrimSpace(next), ""
				continue
			}
			if strings.TrimSpace(line) != "" {
				want += line
			}
		}
		check()
	}
	require.GreaterOrEqual(t, typed, 5)
}

// numberless leaves out empty lines, and replaces what may differ between runs and releases.
func numberless(s string) string {
	s = regexp.MustCompile(`(?m)^\n`).ReplaceAllString(s, "")
	s = regexp.MustCompile(`\d+ bytes`).ReplaceAllString(s, "N bytes")
	s = regexp.MustCompile(`\d{4}-\d\d-\d\d`).ReplaceAllString(s, "DATE")
	return regexp.MustCompile(`(?m)^ +`).ReplaceAllString(s, "")
}

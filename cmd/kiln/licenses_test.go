package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// platforms are those that kiln is built for.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// module is a module that is linked, with the folders of its packages.
type module struct {
	name, dir string
	packages  []string
}

// linked returns the modules that are linked into kiln on all platforms, sorted, from the module
// cache.
func linked(t *testing.T) []module {
	t.Helper()
	const form = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}" +
		"{{end}}{{end}}"
	found := map[string]*module{}
	for _, p := range platforms {
		system, arch, _ := strings.Cut(p, "/")
		cmd := exec.Command("go", "list", "-deps", "-f", form, ".")
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
		out, err := cmd.Output()
		require.NoError(t, err, p)
		for line := range strings.Lines(string(out)) {
			part := strings.Split(strings.TrimSpace(line), "\t")
			require.Len(t, part, 3, line)
			m := found[part[0]]
			if m == nil {
				m = &module{name: part[0], dir: part[1]}
				found[part[0]] = m
			}
			m.packages = append(m.packages, part[2])
		}
	}
	var list []module
	for _, name := range slices.Sorted(maps.Keys(found)) {
		list = append(list, *found[name])
	}
	return list
}

// licence matches the names of files with licences, notices and patent grants.
var licence = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|copyright|notice|patents)` +
	`([.-][a-z0-9]+)?$`)

// texts returns the licences of a module by their paths in it: those at its top, which have to be
// there, and those of each folder above a package that is linked.
func (m *module) texts() (map[string]string, error) {
	dirs := map[string]bool{m.dir: true}
	for _, dir := range m.packages {
		for ; strings.HasPrefix(dir, m.dir); dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
	}
	found := map[string]string{}
	for dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !licence.MatchString(e.Name()) ||
				filepath.Ext(e.Name()) == ".go" {
				continue
			}
			path := filepath.Join(dir, e.Name())
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			name, err := filepath.Rel(m.dir, path)
			if err != nil {
				return nil, err
			}
			text := strings.ReplaceAll(string(data), "\r\n", "\n")
			found[filepath.ToSlash(name)] = strings.Trim(text, "\n") + "\n"
		}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(found)), func(name string) bool {
		return !strings.Contains(name, "/") && !strings.HasPrefix(strings.ToLower(name), "patents")
	}) {
		return nil, errors.New(m.name + ": has no licence: may kiln be distributed with it?")
	}
	return found, nil
}

// collect returns what Text is to return.
func collect(list []module) (string, error) {
	var head, body strings.Builder
	numbers := map[string]int{}
	head.WriteString("kiln is under the Apache License 2.0. The program also has code of Go and " +
		"of these modules,\nunder the licences whose numbers follow.\n\n")
	for i := range list {
		texts, err := list[i].texts()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&head, "%s:", list[i].name)
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			text := texts[name]
			if numbers[text] == 0 {
				numbers[text] = len(numbers) + 1
				fmt.Fprintf(&body, "\n[%d] %s\n\n%s", numbers[text], strings.Repeat("-", 90), text)
			}
			fmt.Fprintf(&head, " %s [%d]", name, numbers[text])
		}
		head.WriteString("\n")
	}
	return head.String() + body.String(), nil
}

// TestLicenses: the program has the licences of all that is linked into it today. The test is in
// this package, so that Go repeats it whenever something else is linked.
func TestLicenses(t *testing.T) {
	t.Parallel()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	list := append([]module{{name: "Go", dir: strings.TrimSpace(string(root))}}, linked(t)...)
	require.Greater(t, len(list), 80)
	want, err := collect(list)
	require.NoError(t, err)
	const path = "licenses.txt.gz"
	if *update {
		var out bytes.Buffer
		w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
		require.NoError(t, err)
		_, err = w.Write([]byte(want))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.NoError(t, os.WriteFile(path, out.Bytes(), 0o600))
		return // this program has the old ones, and the next run compares
	}
	got, err := licenseText()
	require.NoError(t, err)
	require.Equal(t, want, got, "make golden rewrites it")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(100_000))
}

// TestTexts: licences lie at the top of a module and above its packages. One without a licence at
// its top is refused.
func TestTexts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"LICENSE.txt": "one\r\n", "NOTICE": "two\n", "PATENTS": "three", "license.go": "package x",
		"licenser": "x", "a/COPYING": "four", "a/b/x.go": "package b", "c/LICENSE": "five",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	m := module{"example.com/m v1.0.0", dir, []string{filepath.Join(dir, "a", "b")}}
	got, err := m.texts()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"LICENSE.txt": "one\n", "NOTICE": "two\n",
		"PATENTS": "three\n", "a/COPYING": "four\n"}, got)
	text, err := collect([]module{m, m})
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(text, "one"), "each text once")
	require.Equal(t, 2, strings.Count(text,
		"example.com/m v1.0.0: LICENSE.txt [1] NOTICE [2] PATENTS [3] a/COPYING [4]"))
	require.NoError(t, os.Remove(filepath.Join(dir, "LICENSE.txt")))
	require.NoError(t, os.Remove(filepath.Join(dir, "NOTICE")))
	_, err = m.texts()
	require.EqualError(t, err,
		"example.com/m v1.0.0: has no licence: may kiln be distributed with it?")
}

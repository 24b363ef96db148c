package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const clusters = "../../testdata/clusters"

// TestDeterminism renders the same configuration and bundle as different users would: in other
// folders and time zones, with another environment, and on one processor. All trees are
// byte-identical.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	kiln := program(t)
	for _, name := range []string{"ha", "patches", "pools"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var first map[string]string
			for i, env := range [][]string{
				{"TZ=UTC", "HOME=/root", "USER=root"},
				{"TZ=Pacific/Chatham", "HOME=/nonexistent", "USER=nobody", "LANG=tr_TR.UTF-8",
					"GOMAXPROCS=1", "GOGC=off"},
				{"TZ=America/St_Johns", "https_proxy=http://127.0.0.1:9", "SOURCE_DATE_EPOCH=1",
					"GOGC=400"},
			} {
				dir := t.TempDir()
				require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(clusters, name))))
				secrets := filepath.Join(dir, "bundle", "secrets.yaml")
				require.NoError(t, os.Chmod(secrets, 0o600))
				out := filepath.Join(dir, "elsewhere", "nodes")
				cmd := exec.Command(kiln, "render", "--config", "cluster.yaml",
					"--secrets", secrets, "--out", out)
				cmd.Dir = dir
				cmd.Env = append(env, "PATH="+os.Getenv("PATH"))
				messages, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", messages)
				got := tree(t, out)
				require.NotEmpty(t, got)
				if i == 0 {
					first = got
				}
				require.Equal(t, first, got, "run %d", i)
			}
		})
	}
}

// program returns the path of kiln, which is this program under that name: TestMain puts it in
// PATH.
func program(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("kiln")
	require.NoError(t, err)
	return path
}

// tree returns the files below dir by their relative paths, and requires the modes of folders and
// files.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if e.IsDir() {
			require.Equal(t, "drwx------", info.Mode().String(), path)
			return nil
		}
		require.Equal(t, "-rw-------", info.Mode().String(), path)
		files[strings.TrimPrefix(path, dir)] = read(t, path)
		return nil
	}))
	return files
}

// TestDeterminismOverTime renders before the bundle was made, and a year and ten years later.
// Inside the bubble the clock begins in the year 2000, and sleeping moves it. The written files do
// not depend on the clock; only the warnings do.
func TestDeterminismOverTime(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(clusters, "single"))))
	secrets := filepath.Join(dir, "bundle", "secrets.yaml")
	require.NoError(t, os.Chmod(secrets, 0o600))
	trees, warnings := map[string]map[string]string{}, map[string]string{}
	synctest.Test(t, func(t *testing.T) {
		for _, wait := range []time.Duration{0, 27 * year, 10 * year} {
			time.Sleep(wait)
			name := time.Now().Format("2006")
			out := filepath.Join(dir, name)
			var messages bytes.Buffer
			args := []string{
				"render", "--config", filepath.Join(dir, "cluster.yaml"),
				"--secrets", secrets, "--out", out,
			}
			code := run(args, nil, io.Discard, &messages, false)
			require.Equal(t, exitDone, code, messages.String())
			trees[name], warnings[name] = tree(t, out), messages.String()
		}
	})
	require.Len(t, trees, 3)
	for name, got := range trees {
		require.Equal(t, trees["2000"], got, name)
	}
	require.Empty(t, warnings["2000"])
	require.Contains(t, warnings["2036"], "its certificates or token ended")
}

const year = 365 * 24 * time.Hour

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

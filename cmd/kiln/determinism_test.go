package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
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
	today := time.Now().UTC().Truncate(24 * time.Hour)
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
				issueAgain(t, secrets, today)
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

// endTogether lets all certificates of the cluster in dir end on one day.
func endTogether(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "cluster.yaml")
	text := strings.Replace(read(t, path),
		"\nspec:\n", "\nspec:\n  certificates: {stagger: 0s}\n", 1)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// TestDeterminismOverTime renders before the bundle was made, and a week before its certificates
// end. Inside the bubble the clock begins in the year 2000, and sleeping moves it. The written
// files do not depend on the clock; only the warnings do.
func TestDeterminismOverTime(t *testing.T) {
	c := single(t)
	endTogether(t, c.dir)
	trees, warnings := map[string]map[string]string{}, map[string]string{}
	synctest.Test(t, func(t *testing.T) {
		for _, wait := range []time.Duration{0, 27 * year} {
			time.Sleep(wait)
			name := time.Now().Format("2006")
			out := filepath.Join(c.dir, name)
			code, messages := c.run("render", "--secrets", c.secrets, "--out", out)
			require.Equal(t, exitDone, code, messages)
			trees[name], warnings[name] = tree(t, out), messages
		}
	})
	require.Len(t, trees, 2)
	require.Equal(t, trees["2000"], trees["2026"])
	require.Equal(t, "kiln: cp-1, worker-1: certificates date from 2026-01-01T00:00:00Z, and it "+
		"is 2000-01-01T00:00:00Z now: set the clock of this computer, or correct the date in the "+
		"bundle\n", warnings["2000"])
	require.Contains(t, warnings["2026"], "cp-1, worker-1: certificates end on 2027-01-01: run "+
		"kiln secrets renew --config "+filepath.Join(c.dir, "cluster.yaml")+", render again")
}

// TestClockBehind: nothing is counted from a clock that is behind. A deadline before the bundle was
// made would leave a bundle that no verb reads.
func TestClockBehind(t *testing.T) {
	c := single(t)
	before := read(t, c.secrets)
	synctest.Test(t, func(t *testing.T) {
		for _, args := range [][]string{
			{"secrets", "extend"},
			{"secrets", "extend", "--install-only"},
			{"render", "--config", filepath.Join(c.dir, "cluster.yaml"),
				"--out", filepath.Join(c.dir, "nodes"), "--restore", "cp-1:/mnt/etcd.db"},
		} {
			var b bytes.Buffer
			code := run(append(args, "--secrets", c.secrets), nil, io.Discard, &b, false)
			messages := b.String()
			require.Equal(t, exitWrong, code, messages)
			require.Contains(t, messages, "kiln: this computer's clock says 2000-01-01T00:00:00Z, "+
				"and the bundle dates from 2026-01-01T00:00:00Z, which is later: set the clock")
			require.Equal(t, before, read(t, c.secrets))
		}
	})
}

// TestRenewal: documents that have ended are not written. kiln secrets renew renews them, and kiln
// plan says that the machines need their new documents. In the last year of the CAs a renewal gives
// what is left, and after it nothing.
func TestRenewal(t *testing.T) {
	c := single(t)
	endTogether(t, c.dir)
	config := filepath.Join(c.dir, "cluster.yaml")
	out, review := filepath.Join(c.dir, "nodes"), filepath.Join(c.dir, "twin")
	render := []string{"render", "--secrets", c.secrets, "--out", out, "--review", review}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(27*year - 30*24*time.Hour) // a month and a week before the end
		code, messages := c.run(render...)
		require.Equal(t, exitDone, code)
		require.NotContains(t, messages, "certificates end")
		before := tree(t, out)

		time.Sleep(year)
		code, messages = c.run(render...)
		require.Equal(t, exitWrong, code)
		require.Contains(t, messages, "kiln: cp-1, worker-1: certificates ended on 2027-01-01: "+
			"run kiln secrets renew --config "+filepath.Join(c.dir, "cluster.yaml")+
			", render again, and follow kiln plan (docs/changes.md)\n"+
			"kiln: nothing was written\n")
		require.Equal(t, before, tree(t, out))
		code, messages = c.run("render", "--secrets", c.secrets, "--review", review)
		require.Equal(t, exitDone, code, "a twin is no document")
		require.Contains(t, messages, "certificates ended on 2027-01-01")

		renew := []string{"secrets", "renew", "--secrets", c.secrets}
		code, messages = c.run(renew...)
		require.Equal(t, exitDone, code, messages)
		require.Empty(t, messages)
		var steps, notes bytes.Buffer
		args := []string{"plan", review, config, "--secrets", c.secrets}
		require.Equal(t, exitDone, run(args, nil, &steps, &notes, false), notes.String())
		require.Contains(t, notes.String(), "cp-1, worker-1: certificates ended on "+
			"2027-01-01: follow kiln plan now, with the new documents")
		require.Contains(t, steps.String(), "restart, before 2027-01-01: cp-1, worker-1\n")
		require.NotContains(t, steps.String(), "replace:")
		code, messages = c.run(render...)
		require.Equal(t, exitDone, code)
		require.NotContains(t, messages, "certificates end")

		time.Sleep(8*year - 30*24*time.Hour)
		code, messages = c.run(renew...)
		require.Equal(t, exitDone, code, messages)
		require.Equal(t, "kiln: no certificate outlives its CA: these end on 2035-12-30 at the "+
			"latest, and not 8760h from now. Rotate the CAs before that day: kiln secrets "+
			"rotate (docs/rotation.md)\n", messages)
		code, messages = c.run(render...)
		require.Equal(t, exitDone, code)
		require.NotContains(t, messages, "certificates end")

		time.Sleep(2 * year)
		bundle := read(t, c.secrets)
		code, messages = c.run(renew...)
		require.Equal(t, exitWrong, code)
		require.Contains(t, messages, "a CA of the cluster ended on 2035-12-30T00:00:00Z, and no "+
			"certificate outlives its CA: nothing can be renewed; ")
		require.Equal(t, bundle, read(t, c.secrets))
		code, messages = c.run(render...)
		require.Equal(t, exitWrong, code)
		require.Contains(t, messages, "the CAs ended on 2035-12-30, and a CA can be rotated only")
	})
}

// issueAgain writes another day of issue into a golden bundle: a render refuses documents that have
// ended.
func issueAgain(t *testing.T, secrets string, day time.Time) {
	t.Helper()
	text := regexp.MustCompile(`(?m)^issued: .*$`).ReplaceAllString(read(t, secrets),
		"issued: "+strconv.Quote(day.Format(time.RFC3339)))
	text = regexp.MustCompile(`(?m)^formationDeadline: .*$`).ReplaceAllString(text,
		"formationDeadline: "+strconv.Quote(day.Add(7*24*time.Hour).Format(time.RFC3339)))
	require.NoError(t, os.WriteFile(secrets, []byte(text), 0o600))
	require.NoError(t, os.Chmod(secrets, 0o600))
}

// aCluster is a copy of a golden cluster.
type aCluster struct{ dir, secrets string }

// single returns a copy of the golden cluster with one machine.
func single(t *testing.T) *aCluster {
	t.Helper()
	c := &aCluster{dir: t.TempDir()}
	require.NoError(t, os.CopyFS(c.dir, os.DirFS(filepath.Join(clusters, "single"))))
	c.secrets = filepath.Join(c.dir, "bundle", "secrets.yaml")
	require.NoError(t, os.Chmod(c.secrets, 0o600))
	return c
}

// run runs a verb with the cluster's configuration. It returns the exit code and the messages.
func (c *aCluster) run(args ...string) (code int, messages string) {
	var b bytes.Buffer
	args = append(args, "--config", filepath.Join(c.dir, "cluster.yaml"))
	code = run(args, nil, io.Discard, &b, false)
	return code, b.String()
}

const year = 365 * 24 * time.Hour

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

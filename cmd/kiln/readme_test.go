package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/loopback"
	"kiln.dev/kiln/test/need"
)

// TestReadme types what the console blocks of a page show, in a clone of the project or in an empty
// folder, and holds the answers to what stands there. Long lines are folded there. Dates may
// differ, but not the time between them, and sizes by some bytes.
func TestReadme(t *testing.T) {
	t.Parallel()
	for page, where := range map[string]struct {
		least  int
		folder func(t *testing.T) string
		path   string
	}{
		"README.md":             {7, clone, os.Getenv("PATH")},
		"docs/first-cluster.md": {10, clone, os.Getenv("PATH")},
		"docs/configuration.md": {
			4, (*testing.T).TempDir, filepath.Dir(program(t)) + ":" + os.Getenv("PATH"),
		},
	} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text := read(t, filepath.Join("../..", page))
			entries := session(text)
			require.GreaterOrEqual(t, len(entries), where.least)
			s := &shell{dir: where.folder(t), path: where.path}
			s.state = filepath.Join(t.TempDir(), "state")
			writeFiles(t, s.dir, text)
			for _, e := range entries {
				s.requireAnswer(t, e)
			}
		})
	}
}

// clone returns a folder with the files of the project that git has or would take.
func clone(t *testing.T) string {
	t.Helper()
	git := need.Program(t, "git")
	need.Basic(t, "make")
	list, err := exec.Command(git, "-C", "../..", "ls-files", "-co", "--exclude-standard", "-z",
		"--deduplicate").Output()
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "kiln")
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join("../..", name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and git does not know yet
		}
		require.NoError(t, err)
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, data, 0o755))
	}
	return dir
}

// shell is where the commands of a page are typed, one after the other.
type shell struct {
	dir, path string
	state     string // the file with the variables and the folder after the last command
}

// requireAnswer types a command in a folder, in which kiln is the program of the tests.
func requireAnswer(t *testing.T, dir string, e entry) {
	t.Helper()
	s := &shell{dir, filepath.Dir(program(t)) + ":" + os.Getenv("PATH"), os.DevNull}
	s.requireAnswer(t, e)
}

// ofMake reports whether a variable is what make tells its commands: a make below it says more
// then.
func ofMake(variable string) bool {
	return strings.HasPrefix(variable, "MAKE") || strings.HasPrefix(variable, "MFLAGS")
}

// requireAnswer types a command, and holds the answer to the one that is shown.
func (s *shell) requireAnswer(t *testing.T, e entry) {
	t.Helper()
	const script = `[ ! -f "$0" ] || . "$0"
eval "$1"
code=$?
{ export -p; echo "cd '$PWD'"; } >"$0"
exit "$code"`
	cmd := exec.Command("sh", "-c", script, s.state, e.command)
	cmd.Dir = s.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), ofMake), "GOGC=400", "PATH="+s.path)
	out, _ := cmd.CombinedOutput()
	require.Equal(t, wordsOf(e.answer), wordsOf(string(out)), e.command)
	requireSizes(t, e.answer, string(out))
	requireDates(t, e.answer, string(out))
}

// writeFiles writes the YAML blocks of a page that carry a file's name to these files below dir.
func writeFiles(t *testing.T, dir, page string) {
	t.Helper()
	block := regexp.MustCompile("(?s)```yaml (\\S+)\n(.*?)```")
	for _, m := range block.FindAllStringSubmatch(page, -1) {
		path := filepath.Join(dir, m[1])
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(m[2]), 0o600))
	}
}

// entry is a command of a console block, and what the program answers.
type entry struct{ command, answer string }

// session returns the commands of a page's console blocks: each begins with a dollar sign, and goes
// on on the next line after a backslash.
func session(page string) (entries []entry) {
	console := regexp.MustCompile("(?s)```console\n(.*?)```")
	for _, block := range console.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				entries = append(entries, entry{command: command})
			} else if last := len(entries) - 1; strings.HasSuffix(entries[last].command, "\\\n") {
				entries[last].command += line
			} else {
				entries[last].answer += line
			}
		}
	}
	return entries
}

var (
	size = regexp.MustCompile(`(\d+) bytes`)
	date = regexp.MustCompile(`\d{4}-\d\d-\d\d`)
	hash = regexp.MustCompile(`[0-9a-f]{128}`) // pages have an ellipsis instead
)

// wordsOf returns the words of an answer, and replaces what may differ between runs.
func wordsOf(answer string) string {
	answer = date.ReplaceAllString(size.ReplaceAllString(answer, "N bytes"), "DATE")
	answer = hash.ReplaceAllString(answer, "…")
	return strings.Join(strings.Fields(answer), " ")
}

// requireSizes holds the sizes that a page shows to the true ones. Keys are random, so that
// documents differ by some bytes in each run, and images by a block.
func requireSizes(t *testing.T, shown, found string) {
	t.Helper()
	const block, some = 2048, 64
	all := size.FindAllStringSubmatch(found, -1)
	if *update {
		rewriteSizes(t, shown, all)
		return
	}
	for i, m := range size.FindAllStringSubmatch(shown, -1) {
		want, err := strconv.Atoi(all[i][1])
		require.NoError(t, err)
		got, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		if want%block == 0 && got%block == 0 {
			got += min(block, max(-block, want-got))
		}
		require.InDelta(t, want, got, some, "it is %s now; make golden rewrites it", all[i][0])
	}
}

// rewriteSizes writes the true sizes into the pages that have a line of the shown answer.
func rewriteSizes(t *testing.T, shown string, all [][]string) {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	writing.Lock()
	defer writing.Unlock()
	for _, path := range append(pages, "../../README.md") {
		page, i := read(t, path), 0
		for line := range strings.Lines(shown) {
			now := line
			for _, m := range size.FindAllString(line, -1) {
				now = strings.Replace(now, m, all[i][0], 1)
				i++
			}
			page = strings.ReplaceAll(page, line, now)
		}
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
	}
}

// writing is held by a test that rewrites pages.
var writing sync.Mutex

// requireDates holds the dates that a page shows to the true ones: each is as many days after the
// first one, or one day more or less, because times of the day differ.
func requireDates(t *testing.T, shown, found string) {
	t.Helper()
	got, want := datesOf(t, shown), datesOf(t, found)
	for i := range got {
		days := want[i].Sub(want[0]).Hours() / 24
		require.InDelta(t, days, got[i].Sub(got[0]).Hours()/24, 1,
			"%s is %v days after the first date now", got[i].Format(time.DateOnly), days)
	}
}

// datesOf returns the dates in an answer, in their order.
func datesOf(t *testing.T, answer string) (list []time.Time) {
	t.Helper()
	for _, text := range date.FindAllString(answer, -1) {
		day, err := time.Parse(time.DateOnly, text)
		require.NoError(t, err)
		list = append(list, day)
	}
	return list
}

// registryName is the registry of the page.
const registryName = "registry.example.com"

// TestAirGap types what the console blocks of docs/air-gap.md show, with a registry and a server of
// programs on this computer, and requires that the lines that --push prints are those of the page.
func TestAirGap(t *testing.T) {
	t.Parallel()
	need.Program(t, "ssh-keygen")
	outside, site := loopback.New(), loopback.New()
	t.Cleanup(outside.Close)
	t.Cleanup(site.Close)
	outside.Make, outside.Answer = true, givePrograms
	dir := t.TempDir()
	script, err := txtar.ParseFile("../../testdata/script/archive.txtar")
	require.NoError(t, err)
	for _, f := range script.Files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600))
	}
	shell := func(line string) string {
		cmd := exec.Command("sh", "-ec", line)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", line, out)
		return string(out)
	}
	shell(`ssh-keygen -q -t ed25519 -N "" -f key
		echo "you@example.com $(cat key.pub)" > allowed_signers`)
	page := read(t, "../../docs/air-gap.md")
	servers := " --registry registry.k8s.io=" + outside.URL + " --registry docker.io=" +
		outside.URL + " --mirror " + outside.URL
	blocks := regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(page, -1)
	require.Len(t, blocks, 4)
	for _, block := range blocks {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
			push := strings.Contains(line, " --push ")
			if verb, ok := strings.CutPrefix(line, "kiln "); ok {
				line = program(t) + " " + strings.ReplaceAll(verb, registryName, site.Host)
				if !push { // a push asks nobody else
					line += servers
				}
			}
			printed := shell(line)
			for row := range strings.Lines(printed) {
				if push && strings.Contains(row, "{host: ") {
					row = strings.ReplaceAll(row, site.URL, "https://"+registryName)
					require.Contains(t, page, row)
				}
			}
		}
	}
	require.Len(t, site.Tags, 8)
	words := strings.Fields(blockWith(t, page, "kiln serve "))
	verb, rest, err := root().Find(words[1:])
	require.NoError(t, err)
	require.NoError(t, verb.ParseFlags(rest))
}

// TestExternalCA types what the console blocks of docs/external-ca.md show, with OpenSSL as the CA.
// OpenSSL then verifies what a machine and a person get.
func TestExternalCA(t *testing.T) {
	t.Parallel()
	need.Program(t, "openssl")
	page := read(t, "../../docs/external-ca.md")
	dir := t.TempDir()
	writeFiles(t, dir, page)
	for _, e := range session(page) {
		requireAnswer(t, dir, e)
	}
	requireAnswer(t, dir, entry{
		"kiln unpack nodes/cp-1 /etc/kubernetes/pki/apiserver.crt >apiserver.crt && " +
			"openssl verify -x509_strict -CAfile ca.crt -purpose sslserver " +
			"-verify_hostname api.prod.example.com apiserver.crt",
		"apiserver.crt: OK",
	})
	_, person, _ := strings.Cut(page, "```sh\n")
	person, _, _ = strings.Cut(person, "kubectl ") // OpenSSL's part
	requireAnswer(t, dir, entry{
		"{ " + person + "} >alice.log 2>&1; openssl verify -x509_strict -CAfile ca.crt " +
			"-purpose sslclient alice.crt",
		"alice.crt: OK",
	})
	bundle, err := os.ReadFile(filepath.Join(dir, "prod.secrets.yaml"))
	require.NoError(t, err)
	key, err := os.ReadFile(filepath.Join(dir, "ca.key"))
	require.NoError(t, err)
	require.NotContains(t, string(bundle), string(key[100:140]))
}

// Command release makes a release of kiln from the commit that is checked out, in one new folder:
// archives with the program, man pages, completions, licenses and the schema, packages for Debian,
// an image for containers, a bill of materials of each program, a Homebrew formula, and what a Go
// module proxy hands out. SHA256SUMS has the hash of each other file.
//
// The same commit and the same version of Go give the same bytes, whoever makes them, where, and in
// which time zone. Only what the commit has is read, from a clone of its own. Each time is that of
// the commit. Of the environment only the variables in keep reach a build.
//
//	bin/release -key KEY OUT
//
// make release builds it, and calls it so.
//
// KEY is a private key of SSH, which signs SHA256SUMS of a version that has a tag; without a key
// nothing is signed. Without a tag the version is the one that Go makes of a commit, for a trial.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// platforms are those of the programs, as GOOS/GOARCH.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

func main() {
	key := flag.String("key", "", "a private key of SSH, which signs SHA256SUMS")
	only := flag.String("only", strings.Join(platforms, ","), "the platforms, for a quick trial")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	out, err := filepath.Abs(flag.Arg(0))
	if err == nil {
		err = release(out, *key, strings.Split(*only, ","))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// maker makes the files of one release.
type maker struct {
	source  string // a clone of the project, with nothing but the commit
	out     string // the folder with the files of the release
	work    string // a temporary folder
	module  string // the import path of the project
	version string // such as v0.1.0
	commit  string
	date    time.Time // of the commit, in UTC
	common  []entry   // what lies beside each program
}

// number is the version as packages and file names have it, without the v.
func (m *maker) number() string { return strings.TrimPrefix(m.version, "v") }

// base is how the names of the files for a platform begin.
func (m *maker) base(platform string) string {
	return "kiln_" + m.number() + "_" + strings.ReplaceAll(platform, "/", "_")
}

// release makes the folder out, which must not exist.
func release(out, key string, only []string) error {
	if _, err := os.Lstat(out); err == nil {
		return fmt.Errorf("%s exists; name a new folder", out)
	}
	if _, err := os.Stat(key); key != "" && err != nil {
		return err // the key is needed last, minutes later
	}
	work, err := os.MkdirTemp("", "kiln-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	m := &maker{out: filepath.Join(work, "out"), work: work, source: "."}
	if err := os.Mkdir(m.out, 0o755); err != nil {
		return err
	}
	for _, step := range []func() error{
		m.readCommit,
		func() error { return m.readVersion(key != "") },
		m.clone,
		m.addCommon,
		func() error { return m.addPrograms(only) },
		m.addModule,
		func() error { return m.addSums(key) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return m.deliver(out)
}

// readCommit reads which commit is checked out. It refuses to go on beside files that git would
// take and that are not those of the commit: they would not be in the release.
func (m *maker) readCommit() error {
	top, err := m.run("git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	m.source = top
	changed, err := m.run("git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("files are not those of the commit; commit or remove them:\n%s", changed)
	}
	head, err := m.run("git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	var seconds int64
	if _, err := fmt.Sscan(head, &m.commit, &seconds); err != nil {
		return err
	}
	m.date = time.Unix(seconds, 0).UTC()
	m.module, err = m.run("go", "list", "-m")
	return err
}

// readVersion reads the version from the tag of the commit, of which there may be one. Without a
// tag it is the one that Go makes of the commit, and that is not signed.
func (m *maker) readVersion(signed bool) error {
	list, err := m.run("git", "tag", "--points-at", m.commit, "v*")
	if err != nil {
		return err
	}
	tags := strings.Fields(list)
	switch {
	case len(tags) > 1:
		return fmt.Errorf("the commit has several tags: %s; leave one", strings.Join(tags, ", "))
	case len(tags) == 1 && semver.Canonical(tags[0]) != tags[0]:
		return fmt.Errorf("the tag %s is no version such as v0.1.0", tags[0])
	case len(tags) == 1:
		m.version = tags[0]
		return m.checkChangelog()
	case signed:
		return errors.New("the commit has no tag; a trial is not signed: leave -key out")
	}
	older, err := m.run("git", "describe", "--tags", "--abbrev=0", "--match", "v*")
	if err != nil {
		older = ""
	}
	m.version = module.PseudoVersion("v0", older, m.date, m.commit[:12])
	return nil
}

// clone makes a clone that has the commit and nothing else: no file that git ignores, and no file
// that changes while the release is made.
func (m *maker) clone() error {
	dir := filepath.Join(m.work, "source")
	if _, err := m.run("git", "clone", "--quiet", "--no-local", "--no-checkout", "--template=",
		m.source, dir); err != nil {
		return err
	}
	m.source = dir
	_, err := m.run("git", "checkout", "--quiet", "--detach", m.commit)
	return err
}

// checkChangelog refuses a version of which the CHANGELOG says nothing.
func (m *maker) checkChangelog() error {
	text, err := os.ReadFile(filepath.Join(m.source, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	heading := regexp.MustCompile(`(?m)^## ` + regexp.QuoteMeta(m.version) + `(\s|$)`)
	if !heading.Match(text) {
		return fmt.Errorf("CHANGELOG.md: it has no heading \"## %s\"; write what changed",
			m.version)
	}
	return nil
}

// keep holds the variables of the environment that programs of a release see: where things are, and
// nothing that changes what is built.
var keep = []string{
	"PATH", "HOME", "TMPDIR", "GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOSUMDB",
	"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSH_AUTH_SOCK",
}

// run runs a program at the top of the project, and returns what it printed.
func (m *maker) run(name string, args ...string) (string, error) {
	out, err := m.runWith(nil, name, args...)
	return strings.TrimSpace(string(out)), err
}

// runWith is run with more variables in the environment, and keeps white space.
func (m *maker) runWith(env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...) // #nosec G204 -- programs and words of this package
	cmd.Dir = m.source
	for _, word := range os.Environ() {
		if variable, _, _ := strings.Cut(word, "="); slices.Contains(keep, variable) {
			cmd.Env = append(cmd.Env, word)
		}
	}
	cmd.Env = append(cmd.Env,
		"TZ=UTC", "LC_ALL=C", "CGO_ENABLED=0", "GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local",
		"GOFIPS140=off", "GOAMD64=v1", "GOARM64=v8.0", "GOOS="+runtime.GOOS,
		"GOARCH="+runtime.GOARCH, "GIT_CONFIG_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1",
		fmt.Sprintf("SOURCE_DATE_EPOCH=%d", max(0, m.date.Unix())))
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err,
			stdout.String(), stderr.String())
	}
	return stdout.Bytes(), nil
}

// deliver copies the finished files to their folder, which must still be new, and says what they
// are.
func (m *maker) deliver(out string) error {
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	if err := os.CopyFS(out, os.DirFS(m.out)); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(out, sumsName))
	if err != nil {
		return err
	}
	fmt.Printf("kiln %s of %s, %s, made by %s\n%s", m.version, m.date.Format(time.RFC3339),
		m.commit, runtime.Version(), sums)
	if _, err := os.Stat(filepath.Join(out, sumsName+".sig")); err != nil {
		fmt.Printf("%s is not signed, because no key was named\n", sumsName)
	}
	return nil
}

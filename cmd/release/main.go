// Command release makes a release of kiln from the commit that is checked out, in one new folder:
// archives with the program, man pages, completions, licenses and the schema, packages for Debian,
// an image for containers, a bill of materials of each program, a Homebrew formula, and what a Go
// module proxy hands out; SHA256SUMS has the hash of each file.
//
// The same commit and the same Go give the same bytes, whoever runs it, where, and in which time
// zone: each time is that of the commit, and each environment variable that builds read is set.
//
//	go run -C cmd/release . -key KEY -url URL OUT
//
// KEY is a private key of SSH, which signs SHA256SUMS; without one nothing is signed. URL is where
// the files will be found, for the formula. The version is the tag of the commit, or for a trial
// the one that Go makes of a commit without a tag.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"golang.org/x/mod/module"
)

// platforms are those of the programs, as GOOS/GOARCH.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

func main() {
	key := flag.String("key", "", "a private key of SSH, which signs SHA256SUMS")
	url := flag.String("url", "https://kiln.dev/releases", "where the files will be found")
	only := flag.String("only", strings.Join(platforms, ","), "the platforms, for a quick trial")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	out, err := filepath.Abs(flag.Arg(0))
	if err == nil {
		err = release(out, *key, *url, strings.Split(*only, ","))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// maker makes the files of one release.
type maker struct {
	source  string // the top of the project
	out     string // the folder with the files of the release
	work    string // a temporary folder
	module  string // its import path
	version string // such as v0.1.0
	commit  string
	date    time.Time // of the commit, in UTC
	url     string
	common  []entry // what lies beside each program
}

// number is the version as packages and file names have it, without the v.
func (m *maker) number() string { return strings.TrimPrefix(m.version, "v") }

// release makes the folder out, which must not exist.
func release(out, key, url string, platforms []string) error {
	if _, err := os.Lstat(out); err == nil {
		return fmt.Errorf("%s exists; name a new folder", out)
	}
	work, err := os.MkdirTemp("", "kiln-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	m := &maker{out: filepath.Join(work, "out"), work: work, url: strings.TrimSuffix(url, "/")}
	if err := os.Mkdir(m.out, 0o755); err != nil {
		return err
	}
	if err := m.readCommit(); err != nil {
		return err
	}
	for _, step := range []func() error{
		m.addCommon,
		func() error { return m.addPrograms(platforms) },
		m.addModule,
		func() error { return m.addSums(key) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return m.deliver(out)
}

// readCommit reads which commit is checked out, and what its version is. It refuses files that are
// not those of the commit.
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
	if m.module, err = m.run("go", "list", "-m"); err != nil {
		return err
	}
	tag, err := m.run("git", "describe", "--tags", "--exact-match", "--match", "v*")
	if err == nil {
		m.version = tag
		return m.checkChangelog()
	}
	older, err := m.run("git", "describe", "--tags", "--abbrev=0", "--match", "v*")
	if err != nil {
		older = ""
	}
	m.version = module.PseudoVersion("v0", older, m.date, m.commit[:12])
	return nil
}

// checkChangelog refuses a version of which the CHANGELOG says nothing.
func (m *maker) checkChangelog() error {
	text, err := os.ReadFile(filepath.Join(m.source, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	heading := regexp.MustCompile(`(?m)^## ` + regexp.QuoteMeta(m.version) + `\b`)
	if !heading.Match(text) {
		return fmt.Errorf("CHANGELOG.md: it has no heading \"## %s\"; write what changed",
			m.version)
	}
	return nil
}

// run runs a program at the top of the project, and returns what it printed. Further words of the
// environment may follow in env.
func (m *maker) run(name string, args ...string) (string, error) {
	out, err := m.runWith(nil, name, args...)
	return strings.TrimSpace(string(out)), err
}

func (m *maker) runWith(env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = m.source
	cmd.Env = append(os.Environ(),
		"TZ=UTC", "LC_ALL=C", "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off",
		"GOAMD64=v1", "GOARM64=v8.0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH,
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

// deliver moves the finished files to their folder, and says what they are.
func (m *maker) deliver(out string) error {
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

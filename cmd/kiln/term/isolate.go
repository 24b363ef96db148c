package term

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// programs is the PATH that the process was started with. Process sets it.
var programs string

// IsolateProcess takes from the process what libraries could be tricked into using: the default
// HTTP client, programs found by their names, and standard error. kustomize uses all three. kiln
// compares the input of kustomize with the add-on's own files before; Process is the second lock,
// in case that comparison has a hole. Standard error is taken because a library's message may quote
// a Secret or hold escapes for a terminal.
func IsolateProcess() {
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stderr = null
	}
	log.SetOutput(io.Discard)
	http.DefaultTransport = offline{}
	programs = os.Getenv("PATH")
	_ = os.Setenv("PATH", "") // it fails for malformed names alone
	keepMemory()
}

// offline refuses every request.
type offline struct{}

func (offline) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("kiln asks nobody over the network")
}

// Command returns a command that runs a program from the PATH that the process was started with, in
// the environment of that time. A relative folder in PATH is left out.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	for _, dir := range folders() {
		path, err := exec.LookPath(filepath.Join(dir, name))
		if err == nil {
			name = path
			break
		}
	}
	// #nosec G204 -- git and ssh are all that kiln starts so
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = os.Environ()
	if programs != "" {
		cmd.Env = append(cmd.Env, "PATH="+programs)
	}
	return cmd
}

// folders returns the folders of the PATH that the process was started with, without relative ones.
func folders() []string {
	return slices.DeleteFunc(filepath.SplitList(programs), func(dir string) bool {
		return !filepath.IsAbs(dir)
	})
}

// WithPrograms calls f, which may start programs of the PATH that the process was started with: the
// age library starts plugins by their names alone. Nothing else may run meanwhile. A relative
// folder in PATH is left out.
func WithPrograms(f func() error) error {
	defer func(before string) { _ = os.Setenv("PATH", before) }(os.Getenv("PATH"))
	if programs != "" { // Process ran; it does not in tests of a package
		_ = os.Setenv("PATH", strings.Join(folders(), string(filepath.ListSeparator)))
	}
	return f()
}

package main

import (
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
)

// standardError is the process's own: isolate gives os.Stderr away.
var standardError = os.Stderr

// programs is the PATH that the process was started with, once isolate has taken it away.
var programs string

// isolate takes from the process what rendering does not need, and what the libraries below it could be
// led to use: the default client of HTTP, programs that are found by their name, and words of their own to
// people. kustomize has all three. What it reads is compared with the add-on's own files before; this holds if that
// comparison has a hole. Its words may quote a Secret, or be escapes for a terminal.
func isolate() {
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stderr = null
	}
	log.SetOutput(io.Discard)
	http.DefaultTransport = offline{}
	programs = os.Getenv("PATH")
	_ = os.Setenv("PATH", "") // fails for names that are malformed alone
}

// offline refuses every request.
type offline struct{}

func (offline) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("kiln asks nobody over the network")
}

// gitCommand returns a command of git, which is the only program that kiln starts.
func gitCommand(args ...string) *exec.Cmd {
	name := "git"
	for _, dir := range filepath.SplitList(programs) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(path) {
			name = path
			break
		}
	}
	cmd := exec.Command(name, args...) // #nosec G204 -- git alone, with words of kiln's own and a tree that is no option
	// The settings of a work tree are its author's. In a partial clone git would fetch what is missing, by a
	// program that they name (gitprotocol-v2, promisor remotes).
	cmd.Env = append(os.Environ(), "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0")
	if programs != "" {
		cmd.Env = append(cmd.Env, "PATH="+programs)
	}
	return cmd
}

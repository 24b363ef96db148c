package main

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
)

// programs is the PATH that the process was started with. It is empty before isolate is called, and
// if there was none.
var programs string

// isolate takes from the process what rendering does not need, and what the libraries below it
// could be led to use: clients of HTTP with the default transport, and programs that are found by
// their name. kustomize has both. What it reads is compared with the add-on's own files before;
// this holds if that comparison has a hole.
func isolate() {
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
	if programs != "" {
		cmd.Env = append(os.Environ(), "PATH="+programs)
	}
	return cmd
}

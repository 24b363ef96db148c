// Package git reads the files of a revision, and keeps secrets out of work trees.
package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"strings"

	"kiln/cmd/kiln/isolate"
)

// command returns a git command that fetches nothing. In a partial clone git would fetch missing
// files with a program that the settings of the work tree name, and the author of the work tree
// writes these settings (gitprotocol-v2, promisor remotes).
func command(args ...string) *exec.Cmd {
	cmd := isolate.Command(context.Background(), "git", args...)
	cmd.Env = append(cmd.Env,
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0")
	return cmd
}

// output runs git and returns its standard output. If git fails, the error holds the last line of
// git's message; if there is no git, it says that.
func output(in io.Reader, args ...string) ([]byte, error) {
	cmd := command(args...)
	var out, messages bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &messages
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there is no program git")
	}
	if err != nil {
		reason := strings.TrimSpace(messages.String())
		reason = strings.TrimPrefix(reason[strings.LastIndexByte(reason, '\n')+1:], "fatal: ")
		return nil, errors.New(cmp.Or(reason, err.Error()))
	}
	return out.Bytes(), nil
}

// Package git asks git for the files of a revision, and keeps secrets out of work trees.
package git

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"kiln/cmd/kiln/isolate"
)

// command returns a command of git that fetches nothing. The settings of a work tree are its author's:
// in a partial clone git would fetch what is missing, by a program that they name (gitprotocol-v2,
// promisor remotes).
func command(args ...string) *exec.Cmd {
	cmd := isolate.Command("git", args...)
	cmd.Env = append(cmd.Env, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0")
	return cmd
}

// output runs git and returns what it printed. If git fails, the error holds git's own message.
func output(in io.Reader, args ...string) ([]byte, error) {
	cmd := command(args...)
	var out, messages bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &messages
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(messages.String()); text != "" {
			return nil, fmt.Errorf("git %s: %s", strings.Join(args, " "), text)
		}
		return nil, fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return out.Bytes(), nil
}

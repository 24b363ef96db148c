// Package git reads the files of a revision, and keeps secrets out of work trees.
package git

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"kiln/cmd/kiln/isolate"
)

// command returns a git command that fetches nothing. In a partial clone git would fetch missing
// files with a program that the settings of the work tree name, and the author of the work tree
// writes these settings (gitprotocol-v2, promisor remotes).
func command(args ...string) *exec.Cmd {
	cmd := isolate.Command("git", args...)
	cmd.Env = append(cmd.Env,
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0")
	return cmd
}

// output runs git and returns its standard output. If git fails, the error holds git's message.
func output(in io.Reader, args ...string) ([]byte, error) {
	cmd := command(args...)
	var out, messages bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &messages
	if err := cmd.Run(); err != nil {
		if reason := strings.TrimSpace(messages.String()); reason != "" {
			return nil, fmt.Errorf("git %s: %s", strings.Join(args, " "), reason)
		}
		return nil, fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return out.Bytes(), nil
}

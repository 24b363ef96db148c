// This file runs git, which fetches nothing, and reads its answers within bounds.

package vault

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"strings"

	"kiln.dev/kiln/cmd/kiln/term"
)

// gitCommand returns a git command that fetches nothing. In a partial clone git would fetch missing
// files with a program that the settings of the work tree name, and the author of the work tree
// writes these settings (gitprotocol-v2, promisor remotes).
func gitCommand(args ...string) *exec.Cmd {
	cmd := term.Command(context.Background(), "git", args...)
	cmd.Env = append(cmd.Env,
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0",
		"LC_ALL=C") // what git says is compared
	return cmd
}

// output runs git and returns its standard output, of at most so many bytes. If git fails, the
// error holds the last line of git's message; if there is no git, it says that.
func output(in io.Reader, most int, args ...string) ([]byte, error) {
	cmd := gitCommand(args...)
	var messages head
	out := bounded{left: most}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &messages
	err := cmd.Run()
	if out.left < 0 {
		return nil, errTooMuch // git ends by a broken pipe then
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there is no program git")
	}
	if err != nil {
		reason := strings.TrimSpace(string(messages))
		reason = strings.TrimPrefix(reason[strings.LastIndexByte(reason, '\n')+1:], "fatal: ")
		return nil, errors.New(cmp.Or(reason, err.Error()))
	}
	if strings.Contains(string(messages), "is ambiguous") {
		return nil, errAmbiguous
	}
	return out.text.Bytes(), nil
}

// errAmbiguous comes when git chooses one of several revisions, and only warns: a tag comes before
// a branch of its name, and more people may push tags.
var errAmbiguous = errors.New("a tag and a branch have this name; write it in full, such as " +
	"refs/heads/main:review")

// errTooMuch comes when git prints more than kiln reads. Few bytes of a repository can stand for
// very many: git packs them, and a tree may name another one many times.
var errTooMuch = errors.New("more than kiln reads of a revision, which is 256 MiB in files of at " +
	"most 64 MiB")

// bounded takes so many bytes. It has no other method to write: io.Copy would use that.
type bounded struct {
	text bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errTooMuch
	}
	return b.text.Write(p)
}

// head keeps the beginning of git's messages: a repository may be a reason for very many.
type head []byte

// maxMessages is how many bytes of messages are kept.
const maxMessages = 64 << 10

func (h *head) Write(p []byte) (int, error) {
	*h = append(*h, p[:min(len(p), maxMessages-len(*h))]...)
	return len(p), nil
}

// This file runs a program for sh on a machine, by the program ssh.

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"time"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/folder"
)

// longest is how long a program may take. What kiln runs takes seconds, but a machine may fetch
// programs and images slowly.
const longest = 2 * time.Hour

// way is how a program gets to a machine: by ssh, or by a command of the user's for sh.
type way struct{ ssh, run string }

// command returns the program that starts another one on the machine, which comes on standard
// input.
func (w way) command(ctx context.Context) *exec.Cmd {
	if w.run != "" {
		return term.Command(ctx, "sh", "-c", w.run)
	}
	return term.Command(ctx, "ssh", "-T", "--", w.ssh, term.RootShell)
}

// String names the way in messages.
func (w way) String() string {
	if w.run != "" {
		return "--run"
	}
	return "ssh " + w.ssh
}

// maxMessages is how much of ssh's messages is kept.
const maxMessages = 4 << 10

// remoteEnded is the error of a program that ended with another status than 0.
type remoteEnded struct {
	Code   int    // the status; ssh's own failures are 255
	reason string // the last message
}

func (e *remoteEnded) Error() string { return e.reason }

// runRemote runs the program as root on the machine, and returns what it prints. ssh asks for
// passwords on the terminal itself. If the program, or ssh, ends with another status than 0, the
// error is a remoteEnded with the last message, and what was printed is returned too. runRemote
// fails after the longest time, and if more than limit bytes are printed. without says what to do
// where there is no ssh.
func runRemote(w way, program string, limit int64, without string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	cmd := w.command(ctx)
	cmd.Stdin = strings.NewReader(program)
	cmd.WaitDelay = 5 * time.Second // a connection that stays open for others may hold its messages
	var messages tail
	cmd.Stderr = &messages
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	err = cmd.Start()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there is no program ssh: " + without)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w, err)
	}
	text, failure := folder.ReadUpTo(w.String(), out, limit)
	if failure != nil {
		_ = cmd.Process.Kill() // it may go on for ever
	}
	err = cmd.Wait()
	switch reason := messages.last(); {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: no end after %s; look at the machine", w, longest)
	case failure != nil:
		return nil, failure
	case err != nil && reason != "":
		return text, &remoteEnded{cmd.ProcessState.ExitCode(), w.String() + ": " + reason}
	case err != nil:
		return text, &remoteEnded{cmd.ProcessState.ExitCode(), fmt.Sprintf("%s: %s", w, err)}
	}
	return text, nil
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if more := len(t.text) - maxMessages; more > 0 {
		t.text = append([]byte(nil), t.text[more:]...)
	}
	return len(p), nil
}

// last returns the last line that is not empty.
func (t *tail) last() string {
	text := strings.TrimSpace(string(t.text))
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"time"

	"kiln/cmd/kiln/isolate"
	"kiln/render/folder"
	"kiln/render/verify"
)

// remote is what the machine's shell runs: sh as root, which reads the program from standard input.
// Every shell takes these quotes.
const remote = `sh -c 'test "$(id -u)" = 0 && exec sh -s; exec sudo -n sh -s'`

// maxMessages is how much of ssh's messages is kept.
const maxMessages = 4 << 10

// ask runs the program on the machine by ssh, and returns what it prints. ssh asks for passwords on
// the terminal itself. The error holds the last message of ssh or of the machine.
func ask(target, program string) ([]byte, error) {
	cmd := isolate.Command("ssh", "-T", "--", target, remote)
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
		return nil, errors.New("there is no program ssh: run the script of --script on the " +
			"machine, and read what it prints with --listing")
	}
	if err != nil {
		return nil, fmt.Errorf("ssh: %w", err)
	}
	text, failure := folder.ReadUpTo("ssh "+target, out, verify.MaxListing)
	if failure != nil {
		_ = cmd.Process.Kill() // it may go on for ever
	}
	err = cmd.Wait()
	switch reason := messages.last(); {
	case failure != nil:
		return nil, failure
	case err != nil && reason != "":
		return nil, fmt.Errorf("ssh %s: %s", target, reason)
	case err != nil:
		return nil, fmt.Errorf("ssh %s: %w", target, err)
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

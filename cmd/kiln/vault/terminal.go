package vault

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"filippo.io/age/plugin"
	"golang.org/x/term"

	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render/text/wording"
)

// errNoTerminal comes when there is nobody to ask.
var errNoTerminal = errors.New("there is no terminal to ask on")

// ask asks for the passphrase of a file on the terminal of the process. Standard input, which may
// hold a bundle or a configuration, is left alone.
func ask(name string) (private.Secret, error) {
	typed, err := prompt("Passphrase of "+name+": ", true)
	switch {
	case errors.Is(err, errNoTerminal):
		return nil, fmt.Errorf("%s: opened with a passphrase, and %w; run kiln from a terminal, "+
			"or use an identity without a passphrase", name, err)
	case err != nil:
		return nil, fmt.Errorf("%s: its passphrase cannot be read from the terminal: %w", name, err)
	case len(typed) == 0:
		return nil, fmt.Errorf("%s: no passphrase was typed", name)
	}
	return typed, nil
}

// prompt shows a question on the terminal and reads the answer: without showing it if it is secret.
func prompt(question string, secret bool) (private.Secret, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, errNoTerminal
	}
	defer func() { _ = tty.Close() }()
	if _, err := fmt.Fprint(tty, wording.Visible(question, "")); err != nil {
		return nil, err
	}
	if !secret {
		line, err := bufio.NewReader(tty).ReadBytes('\n')
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
	fd := int(tty.Fd()) // #nosec G115 -- a file descriptor
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	defer mend(fd, before)()
	typed, err := term.ReadPassword(fd)
	_, _ = fmt.Fprintln(tty) // the line end that the terminal did not show
	return typed, err
}

// mend lets a terminal show what is typed again if the process is ended meanwhile. The process then
// ends as if nothing had caught the signal.
func mend(fd int, before *term.State) (stop func()) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-ended:
			_ = term.Restore(fd, before)
			signal.Reset(s)
			if p, err := os.FindProcess(os.Getpid()); err == nil {
				_ = p.Signal(s)
			}
		case <-done:
		}
	}()
	return func() {
		signal.Stop(ended)
		close(done)
	}
}

// tell shows a message of a plugin on the terminal.
func tell(name, message string) error {
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return errNoTerminal
	}
	defer func() { _ = tty.Close() }()
	_, err = fmt.Fprintf(tty, "age-plugin-%s: %s\n", name, wording.Visible(message, ""))
	return err
}

// ui is how plugins of age speak with the user.
var ui = &plugin.ClientUI{
	DisplayMessage: tell,
	RequestValue: func(name, question string, secret bool) (string, error) {
		answer, err := prompt(fmt.Sprintf("age-plugin-%s: %s: ", name, question), secret)
		return string(answer), err
	},
	Confirm: func(name, question, yes, no string) (bool, error) {
		choice := fmt.Sprintf("age-plugin-%s: %s (1: %s", name, question, yes)
		if no != "" {
			choice += ", 2: " + no
		}
		answer, err := prompt(choice+") ", false)
		return strings.TrimSpace(string(answer)) == "1", err
	},
	WaitTimer: func(name string) { _ = tell(name, "is waiting for you, or for its device") },
}

package roll

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/text/wording"
)

// job is a script for sh on this computer.
type job struct {
	machine string    // that it is about
	script  string    // of kiln plan, or the user's
	input   string    // for standard input
	out     io.Writer // for standard output; nil to tell of its lines
	silent  bool      // nothing is told of it, and it changes nothing: it needs no Lease
	own     bool      // the script is the user's, and runs as it stands
}

// grace is how much longer than --timeout a program may run, which has that limit itself as a rule;
// how long it may take to end; and how long pods may take while a machine is down.
const grace = 10 * time.Second

// kilnDifferent is the exit code of kiln for something that differs.
const kilnDifferent = 3

// runJob runs a job. In a dry run it prints it. The error is term.ErrDifferent if kiln was run, and
// something differs.
func (r *roller) runJob(ctx context.Context, j *job) error {
	if r.dry {
		r.log.raw(j.script)
		if j.input != "" {
			r.log.raw("#   which gets: " + strings.TrimSpace(j.input))
		}
		return nil
	}
	if !j.silent {
		if err := r.hold(ctx); err != nil {
			return err
		}
		r.log.say("run", "", j.machine, j.script)
	}
	limited, cancel := context.WithTimeout(ctx, r.timeout+grace)
	defer cancel()
	script := j.script
	program, rest, _ := strings.Cut(script, " ")
	switch {
	case j.own:
	case program == "kiln":
		script = `exec "$0" ` + rest // $0 is the last word of term.Command below
	case program == "kubectl" || program == "ssh":
		script = "exec " + script // this program gets the signal, and not the shell
	}
	cmd := term.Command(limited, "sh", "-c", script, r.kiln)
	cmd.Env = append(cmd.Env, "KUBECONFIG="+r.kubeconfig)
	cmd.Stdin = strings.NewReader(j.input)
	messages := &lines{log: r.log, machine: j.machine, silent: j.silent}
	cmd.Stdout, cmd.Stderr = j.out, messages
	if j.out == nil {
		cmd.Stdout = messages
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if j.own && j.input == "" {
		term.EndWithChildren(cmd)
	}
	cmd.WaitDelay = grace
	err := cmd.Run()
	messages.flush()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // what it has started may go on
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	var exit *exec.ExitError
	if program == "kiln" && errors.As(err, &exit) && exit.ExitCode() == kilnDifferent {
		return term.ErrDifferent
	}
	text, hint := messages.reason()
	if limited.Err() != nil {
		late := fmt.Sprintf("it has not ended within %s", r.timeout)
		text = strings.TrimSuffix(late+": "+text, ": ")
	}
	return fmt.Errorf("%s: %s%s", j.script, cmp.Or(text, err.Error()), hint)
}

// shell runs a command of kubectl or kiln for the machine of the turn, and tells of its output. It
// runs it once more if the API server was away.
func (t *turn) shell(ctx context.Context, script string) error {
	j := &job{machine: t.machine, script: script}
	err := t.runJob(ctx, j)
	if err == nil || ctx.Err() != nil || t.askOnce(ctx) == nil {
		return err
	}
	if err := t.ask(ctx); err != nil {
		return err
	}
	return t.runJob(ctx, j)
}

// on returns a job that runs a script as root on a machine, or here if that is empty. It goes there
// by standard input.
func (t *turn) on(machine, script string) *job {
	switch {
	case machine == "":
		return &job{machine: t.machine, script: script}
	case t.ssh != "":
		way := "ssh -T -- " + wording.ShellWord(t.placed(t.ssh, machine, "")) + " " +
			wording.ShellWord(term.RootShell)
		return &job{machine: machine, script: way, input: script + "\n"}
	}
	way := t.placed(t.run, machine, "")
	return &job{machine: machine, script: way, input: script + "\n", own: true}
}

// output returns what a script prints on a machine, or here.
func (t *turn) output(ctx context.Context, machine, script string) (string, error) {
	var out bytes.Buffer
	j := t.on(machine, script)
	j.out, j.silent = &out, true
	err := t.runJob(ctx, j)
	return out.String(), err
}

// hints are what people do about messages of programs.
var hints = []struct{ says, do string }{
	{"disruption budget", "a budget keeps this pod: give its workload more replicas, or let the " +
		"budget lose one"},
	{"declare no controller", "nothing makes these pods again: delete them, or give them a " +
		"controller"},
	{"global timeout reached", "look at what keeps these pods, or give --timeout more time"},
}

// reason returns the message that says most, and what to do about it.
func (w *lines) reason() (text, hint string) {
	for _, h := range hints {
		for _, line := range w.last {
			if strings.Contains(line, h.says) {
				return line, "; " + h.do
			}
		}
	}
	for _, line := range slices.Backward(w.last) {
		if !strings.HasPrefix(line, "kiln: see: ") {
			return line, ""
		}
	}
	return "", ""
}

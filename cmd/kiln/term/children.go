package term

import (
	"os/exec"
	"syscall"
)

// EndWithChildren lets the end of a command's context end all that it has started too, by SIGTERM.
// The command cannot ask a person: it is not in the foreground of the terminal.
func EndWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

//go:build !unix

package term

import "os/exec"

// EndWithChildren changes nothing: a system without process groups ends the command alone.
func EndWithChildren(*exec.Cmd) {}

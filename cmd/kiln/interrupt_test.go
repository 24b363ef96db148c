package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestInterrupt: a run that is interrupted says what it left.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(program(t), "validate", "-")
	var messages bytes.Buffer
	cmd.Stderr = &messages
	in, err := cmd.StdinPipe() // which stays open, so that the run waits
	require.NoError(t, err)
	defer func() { _ = in.Close() }()
	require.NoError(t, cmd.Start())
	time.Sleep(2 * time.Second) // a start takes a tenth of that
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	var exit *exec.ExitError
	require.True(t, errors.As(cmd.Wait(), &exit))
	require.Equal(t, exitInterrupted, exit.ExitCode())
	require.Equal(t, "kiln: interrupted: nothing was written\n", messages.String())
}

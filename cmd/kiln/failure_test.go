package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/term"
)

// TestFailures: with -o json, a verb that fails prints a term.Failure on standard output, with
// the exit code that it ends with. Every verb that reports has -o json.
func TestFailures(t *testing.T) {
	t.Parallel()
	absent := filepath.Join(t.TempDir(), "absent")
	wrong := map[string][]string{ // an input that each verb refuses; nil if it reads none
		"apply":           {absent, "--since", absent, "--out", absent},
		"archive":         {absent, "--out", absent},
		"certs":           {absent},
		"certs add":       {absent, "--config", absent},
		"certs csr":       {absent, "--out", absent},
		"diff":            {absent, absent},
		"explain":         {"os", "--node", "cp-1", "--config", absent},
		"images":          {absent},
		"iso":             {absent},
		"kubeconfig":      {absent, "--user", "alice", "--out", absent},
		"lock":            {absent},
		"netboot":         {absent, "--url", "http://10.0.0.1", "--out", absent},
		"plan":            {absent, absent},
		"platforms":       nil,
		"render":          {absent, "--out", absent},
		"roll":            {absent, absent},
		"report":          {absent, "--out", absent},
		"schema":          nil,
		"secrets encrypt": {absent},
		"secrets extend":  {"--secrets", absent},
		"secrets import":  {absent, "--pki", absent},
		"secrets public":  {"--secrets", absent, "--out", absent},
		"secrets renew":   {absent},
		"secrets rotate":  {"ca", "--config", absent},
		"serve":           {absent, "--from", "any"},
		"status":          {"--kubeconfig", absent},
		"token list":      {absent},
		"token manifest":  {"blue", "--config", absent, "--out", absent},
		"token renew":     {"blue", "--config", absent},
		"unpack":          {absent},
		"validate":        {absent},
		"verify":          {absent, "--listing", absent},
		"version":         nil,
	}
	var without []string // verbs without -o
	forEachVerb(root(), func(verb *cobra.Command) {
		name := strings.TrimPrefix(verb.CommandPath(), "kiln ")
		if verb.Flags().Lookup("output") == nil {
			without = append(without, name)
			return
		}
		input, ok := wrong[name]
		require.True(t, ok, "%s: the table has no row for it", name)
		words := append(strings.Fields(name), "-o", "json")
		requireFailure(t, exitUsage, slices.Concat(strings.Fields(name), []string{"--nonsense"},
			[]string{"-o", "json"})...)
		requireFailure(t, exitUsage, append(words, "--nonsense")...)
		if input != nil {
			requireFailure(t, exitWrong, append(words, input...)...)
		}
	})
	require.Equal(t, []string{"init"}, slices.Sorted(slices.Values(without)))
}

// forEachVerb calls visit for each verb below cmd that does something itself: kiln secrets only
// asks for one of its own verbs.
func forEachVerb(cmd *cobra.Command, visit func(*cobra.Command)) {
	for _, verb := range cmd.Commands() {
		forEachVerb(verb, visit)
		if !verb.HasSubCommands() || reports(verb) {
			visit(verb)
		}
	}
}

// reports reports whether a verb that has verbs below it does something itself.
func reports(verb *cobra.Command) bool { return verb.Flags().Lookup("output") != nil }

// requireFailure requires that a command line ends with a code and prints its report.
func requireFailure(t *testing.T, code int, args ...string) {
	t.Helper()
	var out, messages bytes.Buffer
	require.Equal(t, code, run(args, nil, &out, &messages, false), "%q: %s", args, &messages)
	var report struct {
		Valid *bool `json:"valid"` // kiln validate says this too
		term.Failure
	}
	decoder := json.NewDecoder(&out)
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&report), "%q", args)
	require.NoError(t, requireEnd(decoder), "%q", args)
	require.Equal(t, code, report.ExitCode, "%q", args)
	require.NotEmpty(t, report.Problems, "%q", args)
	for _, p := range report.Problems {
		require.NotEmpty(t, p.Message, "%q", args)
		require.Contains(t, messages.String(), p.Message, "%q: people read the same", args)
	}
}

// requireEnd returns an error if the decoder's input goes on.
func requireEnd(decoder *json.Decoder) error {
	if _, err := decoder.Token(); err != io.EOF {
		return io.ErrNoProgress
	}
	return nil
}

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

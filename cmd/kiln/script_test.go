package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"kiln/test/need"
)

// TestMain lets the scripts call this very program as kiln, with the umask whose modes they want.
func TestMain(m *testing.M) {
	syscall.Umask(0o022)
	testscript.Main(m, map[string]func(){"kiln": main})
}

// TestScripts runs the command line from outside: the scripts in testdata/script say what each verb
// does, with its exit codes.
func TestScripts(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("ROOT", root)
			env.Setenv("CLUSTERS", filepath.Join(root, "testdata", "clusters"))
			env.Setenv("GOGC", "off") // a run ends before collecting garbage pays
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "mode": mode, "serving": serving, "fetch": fetch, "logged": logged,
			"registry": registry,
		},
		// [here:NAME] holds if the program or right is here.
		Condition: func(cond string) (bool, error) {
			name, ok := strings.CutPrefix(cond, "here:")
			if !ok {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			return need.Has(t, name), nil
		},
	})
}

// code N COMMAND... runs the command and requires this exit code.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if exit, ok := err.(interface{ ExitCode() int }); ok {
		got = string(rune('0' + exit.ExitCode()))
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// mode MODE PATH... requires these permissions of files.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	for _, path := range args[1:] {
		info, err := os.Stat(ts.MkAbs(path))
		ts.Check(err)
		if got := info.Mode().Perm().String(); (got == args[0]) == neg {
			ts.Fatalf("%s has mode %s, want %s", path, got, args[0])
		}
	}
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"filippo.io/age"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/need"
)

// TestMain lets the scripts call this very program as kiln, with the umask whose modes they want.
func TestMain(m *testing.M) {
	syscall.Umask(0o022)
	testscript.Main(m, map[string]func(){"kiln": main, "age-plugin-demo": demoPlugin,
		"kubectl": fakeKubectl, "machine": fakeMachine})
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
			// Without any collection kiln is slower: memory that is new costs more.
			env.Setenv("GOGC", "400")
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "mode": mode, "serving": serving, "fetch": fetch, "logged": logged,
			"registry": registry, "images": imageRegistry, "agekey": agekey, "ageseal": ageseal,
			"kubeadmpki": kubeadmpki, "runs": runs, "fake": fake,
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

// agekey FILE writes an age identity, and its recipient beside it as FILE.pub.
func agekey(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: agekey file")
	}
	key, err := age.GenerateX25519Identity()
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.WriteFile(path, []byte("# made for a test\n"+key.String()+"\n"), 0o600))
	ts.Check(os.WriteFile(path+".pub", []byte(key.Recipient().String()+"\n"), 0o600))
}

// ageseal IN OUT RECIPIENT... encrypts a file as age -e does. With the passphrase -p:WORDS it does
// so as age -p, but with less work.
func ageseal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: ageseal in out recipient...")
	}
	var to []age.Recipient
	for _, text := range args[2:] {
		words, passphrase := strings.CutPrefix(text, "-p:")
		if !passphrase {
			r, err := age.ParseX25519Recipient(strings.TrimSpace(ts.ReadFile(text)))
			ts.Check(err)
			to = append(to, r)
			continue
		}
		r, err := age.NewScryptRecipient(words)
		ts.Check(err)
		r.SetWorkFactor(10)
		to = append(to, r)
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to...)
	ts.Check(err)
	_, err = io.WriteString(w, ts.ReadFile(args[0]))
	ts.Check(err)
	ts.Check(w.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out.Bytes(), 0o600))
}

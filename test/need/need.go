// Package need is how tests ask for what not every computer has: programs and rights. Things says
// what is not proven without each of them. A test that asks for one that is not here is skipped,
// and "go run ./test/missing" says so after all tests, for tests too whose verdicts Go repeats.
package need

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// variable returns the environment variable that says which version of a thing is here. Go repeats
// the verdict of a package only while the variables that its tests read are the same, so a question
// reads it: a proof that was skipped runs when its program is installed.
func variable(name string) string {
	return "KILN_FOUND_" + strings.Map(func(r rune) rune {
		if r < 'A' && !unicode.IsDigit(r) {
			return '_' // a space, a dash or a dot
		}
		return r
	}, name)
}

// Program returns the path of a program, and skips the test if it is not here.
func Program(t testing.TB, name string) string {
	t.Helper()
	thing := asked(t, name)
	here := thing.look()
	if here.path == "" {
		t.Skipf("%s is not here: %s", here.want, thing.Gap)
	}
	return here.path
}

// Right skips the test if this process does not have that right.
func Right(t testing.TB, name string) {
	t.Helper()
	Program(t, name)
}

// Has reports whether a program or right is here. It is for a test that proves the rest without it.
func Has(t testing.TB, name string) bool {
	t.Helper()
	thing := asked(t, name)
	here := thing.look()
	if here.path == "" {
		t.Logf("%s is not here: %s", here.want, thing.Gap)
	}
	return here.path != ""
}

// asked returns the thing of that name. It fails if the table does not say that this test asks for
// it.
func asked(t testing.TB, name string) *Thing {
	t.Helper()
	_ = os.Getenv(variable(name))
	i := slices.IndexFunc(Things, func(thing Thing) bool { return thing.Name == name })
	if i < 0 {
		t.Fatalf("%s is not in the table of test/need", name)
	}
	test, _, _ := strings.Cut(t.Name(), "/")
	if tests := Things[i].Tests; tests != nil && !slices.Contains(tests, test) {
		t.Fatalf("the table of test/need does not say that %s asks for %s", test, name)
	}
	return &Things[i]
}

// Closing returns the line that says what is not here, and what is not proven without it.
func Closing() string {
	var programs, rights []string
	for i := range Things {
		thing := &Things[i]
		here := thing.look()
		if here.path != "" {
			continue
		}
		line := here.want + " ("
		if thing.Tests != nil {
			line += strings.Join(thing.Tests, ", ") + ": "
		}
		line += thing.Gap + ")"
		if thing.right {
			rights = append(rights, line)
		} else {
			programs = append(programs, line)
		}
	}
	return closing(programs, rights)
}

func closing(programs, rights []string) string {
	var parts []string
	if len(programs) > 0 {
		parts = append(parts, "skipped for want of a program: "+strings.Join(programs, ", "))
	}
	if len(rights) > 0 {
		parts = append(parts, "skipped for want of a right: "+strings.Join(rights, ", "))
	}
	return cmp.Or(strings.Join(parts, "; "), "all proofs ran")
}

// Variables returns a variable and its value, as env takes them, for each thing that is here. The
// value of a program is its size and time of change.
func Variables() (words []string) {
	for i := range Things {
		path := Things[i].look().path
		if path == "" {
			continue
		}
		value := "here"
		if info, err := os.Stat(path); err == nil && !Things[i].right {
			value = fmt.Sprintf("%d:%d", info.Size(), info.ModTime().Unix())
		}
		words = append(words, variable(Things[i].Name)+"="+value)
	}
	return words
}

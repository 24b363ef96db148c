// Program fields writes the table of kinds that kiln checks objects and configuration files by:
// the fields of every kind, read from the types of the Kubernetes that the program is built with.
// The table is render/kube/kinds/fields.txt, and it says of each line in which minors it holds. The
// program replaces what the table says of its own minor, and leaves the other minors alone:
//
//	go run ./fields ../../render/kube/kinds/fields.txt
//	go run -modfile=v1.34.mod ./fields ../../render/kube/kinds/fields.txt
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "fields:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("want the file of the table")
	}
	minor, err := builtWith()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	t := Parse(string(text))
	t.Replace(strconv.Itoa(minor), Lines(minor))
	return os.WriteFile(os.Args[1], []byte(t.String()), 0o644)
}

// builtWith returns the minor of Kubernetes whose types the program has, such as 36.
func builtWith() (int, error) {
	info, _ := debug.ReadBuildInfo()
	for _, d := range info.Deps {
		if d.Path != "k8s.io/api" {
			continue
		}
		if d.Replace != nil {
			d = d.Replace
		}
		if parts := strings.Split(d.Version, "."); len(parts) == 3 {
			return strconv.Atoi(parts[1])
		}
	}
	return 0, fmt.Errorf("no k8s.io/api in the build")
}

// Command proof turns the results of test/boot/proof.sh into docs/proof.md and its chart.
//
//	proof FOLDER
//
// FOLDER holds about, plan and a folder for each repetition. The page and the chart are written to
// it as proof.md and proof-steps.svg. The same results give the same bytes.
// Exits with 1 if a repetition failed or has not ended, or if results of different commits lie in
// the folder.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: proof FOLDER")
		os.Exit(2)
	}
	left, err := run(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		os.Exit(1)
	}
	if left > 0 {
		fmt.Fprintf(os.Stderr, "proof: %d repetitions failed or have not ended: see %s\n", left,
			filepath.Join(os.Args[1], "proof.md"))
		os.Exit(1)
	}
}

// run writes page and chart, and returns how many repetitions have not passed.
func run(folder string) (left int, err error) {
	p, err := read(folder)
	if err != nil {
		return 0, err
	}
	for _, r := range p.plan {
		if !r.passed {
			left++
		}
	}
	err = os.WriteFile(filepath.Join(folder, "proof.md"), []byte(page(p)), 0o644)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "proof-steps.svg"), []byte(chart(p)), 0o644)
	}
	return left, err
}

// Command conformance knows which [Conformance] specs of Kubernetes conformance.sh runs, and makes
// docs/conformance.md of what it measured.
//
//	conformance check MINOR OFFICIAL
//	            holds specs.txt to the official list of a release
//	conformance [-again] [-all] names MINOR OFFICIAL
//	            prints the names of the specs to run; with -all, also of those that have a reason
//	            not to be run
//	conformance [-again] add MINOR OFFICIAL FACTS REPORT
//	            turns a report of Ginkgo into results/vMINOR.txt
//	conformance page FILE
//	            writes the page
//
// OFFICIAL is test/conformance/testdata/conformance.yaml of Kubernetes. FACTS are lines of a word,
// a tab and a value: what the report does not know of the run. With -again, the specs to run are
// those that have not passed in results/vMINOR.txt, and the results of the others stay.
//
// It runs in the folder of this file. Exits with 1 if lists do not fit, or if a spec that is to be
// run has not passed.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	again := flag.Bool("again", false, "leave out what has passed")
	all := flag.Bool("all", false, "names those that are not run, too")
	flag.Parse()
	var err error
	switch words := flag.Args(); {
	case flag.NArg() == 3 && words[0] == "check":
		err = checkFile(words[1], words[2])
	case flag.NArg() == 3 && words[0] == "names":
		err = printNames(words[1], words[2], *again, *all)
	case flag.NArg() == 5 && words[0] == "add":
		err = addReport(words[1], words[2], words[3], words[4], *again)
	case flag.NArg() == 2 && words[0] == "page":
		err = writePage(words[1])
	default:
		fmt.Fprintln(os.Stderr, "usage: conformance [-again] check|names|add|page ARGUMENT...")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// printNames prints the whole names of the specs to run, or of all.
func printNames(minor, file string, again, all bool) error {
	l, err := readLists()
	if err != nil {
		return err
	}
	names, whole, err := official(file)
	if err != nil {
		return err
	}
	var old results
	if again {
		if old, err = readResults(resultsOf(minor)); err != nil {
			return err
		}
	}
	for _, name := range names {
		if (all || l.what[minor][name] == run) && old.specs[name].state != passed {
			fmt.Println(whole[name])
		}
	}
	return nil
}

func writePage(file string) error {
	text, err := page()
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

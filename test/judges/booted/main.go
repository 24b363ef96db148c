// Command booted evaluates the CIS benchmark on machines that have booted, and on the documents
// that they booted from.
//
//	go run ./test/trees -documents NODES | booted [-v] RECORDS
//
// reads the documents from standard input. RECORDS holds a folder for each machine, as
// machine.AfterBoot wants it. For each machine it prints how many checks pass, with -v each check:
// its number, the verdict on the document, the verdict on the machine, and what was found there. It
// exits with 1 if a verdict differs, or if a check is below PASS that no exception names.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"kiln.dev/kiln/test/judges/cis"
	"kiln.dev/kiln/test/judges/machine"
)

func main() {
	verbose := flag.Bool("v", false, "print each check")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: booted [-v] RECORDS <DOCUMENTS")
		os.Exit(2)
	}
	faults, err := judge(os.Stdin, flag.Arg(0), *verbose, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "booted:", err)
		os.Exit(1)
	}
	if faults > 0 {
		os.Exit(1)
	}
}

// judge compares every machine of the documents with its record. It returns how many faults it has
// printed.
func judge(documents io.Reader, records string, verbose bool, out io.Writer) (int, error) {
	var machines []*machine.Machine
	if err := json.NewDecoder(documents).Decode(&machines); err != nil {
		return 0, fmt.Errorf("documents: %w", err)
	}
	if len(machines) == 0 {
		return 0, errors.New("there are no documents")
	}
	count := 0
	for _, document := range machines {
		booted, err := machine.AfterBoot(document, filepath.Join(records, document.Name))
		if err != nil {
			return count, err
		}
		verdicts, faults := cis.Compare(document, booted)
		states := map[string]int{}
		for _, v := range verdicts {
			states[v.Machine]++
			if verbose {
				fmt.Fprintf(out, "%s  %-7s%-5s%-5s%s\n",
					document.Name, v.ID, v.Document, v.Machine, v.Found)
			}
		}
		for _, fault := range faults {
			fmt.Fprintln(out, fault)
		}
		count += len(faults)
		fmt.Fprintf(out, "%s: %d pass, %d fail, %d warn\n", document.Name,
			states[cis.Pass], states[cis.Fail], states[cis.Warn])
	}
	return count, nil
}

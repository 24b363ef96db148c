// Command net reads what machines said during a boot, and prints each sign of trouble: panics,
// emergency shells, ordering cycles, processes that ran out of memory or crashed, SELinux' denials,
// failed units, faults of the hook, and what cloud-init calls an error.
//
//	net EXCEPTIONS FOLDER...
//
// Each FOLDER is the record of one machine: console, journal, failed (systemctl list-units
// --failed) and cloud-init.json (cloud-init status --format json), as keep_record in cluster.sh
// writes them. A machine without cloud-init has no cloud-init.json. A record may have the logs as
// keep_logs writes them: pods (/var/log/pods), warnings (journalctl -p warning), cloud-init.log.
// Then each line in them, and in the journal, that a program calls a warning or worse is a finding.
// EXCEPTIONS lists what is known and harmless. Exits with 1 if there is a finding that is not an
// exception, or if a record is not complete.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: net EXCEPTIONS FOLDER...")
		os.Exit(2)
	}
	count, err := scan(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "net:", err)
		os.Exit(1)
	}
	if count > 0 {
		fmt.Printf("%d findings; a harmless one goes into %s, with date and reason\n", count,
			os.Args[1])
		os.Exit(1)
	}
}

// scan prints the findings in the folders, and returns how many there are.
func scan(exceptions string, folders []string) (count int, err error) {
	text, err := os.ReadFile(exceptions)
	if err != nil {
		return 0, err
	}
	known, err := parseExceptions(string(text))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", exceptions, err)
	}
	for _, folder := range folders {
		found, err := findings(folder, known)
		if err != nil {
			return count, err
		}
		for _, f := range found {
			fmt.Printf("%s: %s: %s: %s\n", filepath.Base(folder), f.where, f.sign, f.line)
		}
		count += len(found)
	}
	return count, nil
}

// finding is a line that should not be there.
type finding struct {
	where string // the file of the record
	sign  string // the name of the sign
	line  string
}

// signs are looked for in each line of console and journal.
var signs = []struct {
	name string
	line *regexp.Regexp
}{
	{"kernel panic", regexp.MustCompile(`Kernel panic|BUG: |Oops: `)},
	{"emergency shell", regexp.MustCompile(`(?i)emergency (mode|shell)|rescue mode|` +
		`Reached target (emergency|rescue)\.target`)},
	{"ordering cycle", regexp.MustCompile(`(?i)ordering cycle|deleted to break`)},
	{"out of memory", regexp.MustCompile(`(?i)out of memory|oom-kill|oom killer|result 'oom`)},
	{"crash", regexp.MustCompile(`segfault|general protection fault|dumped core|` +
		`status=\d+/(SEGV|ABRT|BUS|ILL|FPE)|\]: panic: |goroutine \d+ \[running\]`)},
	{"SELinux", regexp.MustCompile(`avc: +denied`)},
	{"failed unit", regexp.MustCompile(`Failed with result|\[.*FAILED.*\] Failed to`)},
	{"unit that was not started", regexp.MustCompile(`Dependency failed for|` +
		`Timed out waiting for device`)},
	{"unit file", regexp.MustCompile(`Unknown key|Unknown section|bad unit file setting|` +
		`(?i)failed to parse .*unit`)},
	{"fault of the hook", regexp.MustCompile(`FAULT [a-z0-9-]+ `)},
}

// findings returns what the record in the folder has, without the known exceptions. It fails if a
// file is absent or empty that each machine has.
func findings(folder string, known []exception) ([]finding, error) {
	var found []finding
	for _, name := range []string{"console", "journal"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		if len(text) == 0 {
			return nil, fmt.Errorf("%s/%s is empty", folder, name)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			for _, s := range signs {
				if s.line.MatchString(line) {
					found = append(found, finding{name, s.name, line})
				}
			}
		}
	}
	logged, err := inLogs(folder)
	if err != nil {
		return nil, err
	}
	found = append(found, logged...)
	failed, err := os.ReadFile(filepath.Join(folder, "failed"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(failed)) {
		found = append(found, finding{"failed", "failed unit", strings.TrimSpace(line)})
	}
	said, err := cloudInit(filepath.Join(folder, "cloud-init.json"))
	if err != nil {
		return nil, err
	}
	found = append(found, said...)

	var rest []finding
	for _, f := range found {
		if !excepted(f, known) {
			rest = append(rest, f)
		}
	}
	return rest, nil
}

// cloudInit returns the errors in cloud-init's own status: those that end a boot, and those that it
// calls recoverable, such as a key that it does not know or a file that it could not write.
func cloudInit(path string) (found []finding, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var status struct {
		Status      string              `json:"status"`
		Errors      []string            `json:"errors"`
		Recoverable map[string][]string `json:"recoverable_errors"`
	}
	if err := json.Unmarshal(text, &status); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	add := func(sign, line string) {
		found = append(found, finding{filepath.Base(path), sign, line})
	}
	if status.Status != "done" {
		add("cloud-init", "status is "+status.Status+", not done")
	}
	for _, line := range status.Errors {
		add("cloud-init", line)
	}
	for level, lines := range status.Recoverable {
		for _, line := range lines {
			add("cloud-init "+level, line)
		}
	}
	return found, nil
}

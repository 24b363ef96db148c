package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// exception is a finding that is known and harmless.
type exception struct {
	where string // the file of the record
	line  *regexp.Regexp
}

// excepted reports whether an exception covers the finding.
func excepted(f finding, known []exception) bool {
	for _, e := range known {
		if e.where == f.where && e.line.MatchString(f.line) {
			return true
		}
	}
	return false
}

// parseExceptions reads the list: blocks of the four fields date, where, line and reason, with an
// empty line between two. It fails if a field is absent or cannot be read.
func parseExceptions(text string) (known []exception, err error) {
	fields := map[string]string{}
	end := func() error {
		if len(fields) == 0 {
			return nil
		}
		for _, name := range []string{"date", "where", "line", "reason"} {
			if fields[name] == "" {
				return fmt.Errorf("an exception has no %s: %v", name, fields)
			}
		}
		if _, err := time.Parse(time.DateOnly, fields["date"]); err != nil {
			return err
		}
		pattern, err := regexp.Compile(fields["line"])
		if err != nil {
			return err
		}
		known = append(known, exception{fields["where"], pattern})
		fields = map[string]string{}
		return nil
	}
	for line := range strings.Lines(text + "\n\n") {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, ": ")
		switch {
		case line == "":
			if err := end(); err != nil {
				return nil, err
			}
		case strings.HasPrefix(line, "#"):
		case !ok:
			return nil, fmt.Errorf("%q is not a field; write NAME: VALUE", line)
		default:
			fields[name] = value
		}
	}
	return known, nil
}

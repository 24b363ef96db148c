// Command audit compares the objects that a control plane applied with the audit log of its API
// server.
//
//	audit OBJECTS LOG
//
// OBJECTS is a copy of /etc/kiln/objects of the machine whose hook applied them, LOG its audit log.
// Each object must have an event of its own, and where the log keeps bodies, the event must hold
// the object. Exits with 1 if something is missing, or if the log keeps no body at all.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: audit OBJECTS LOG")
		os.Exit(2)
	}
	missing, err := compare(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "audit:", err)
		os.Exit(1)
	}
	for _, line := range missing {
		fmt.Println(line)
	}
	if len(missing) > 0 {
		os.Exit(1)
	}
}

// event is what the comparison needs of a line of an audit log.
type event struct {
	Level          string `json:"level"`
	Verb           string `json:"verb"`
	RequestURI     string `json:"requestURI"`
	RequestObject  any    `json:"requestObject"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// compare returns a line for each object that the log does not have as it was applied. It fails if
// a file cannot be read, or if no event has a body.
func compare(objects, log string) (missing []string, err error) {
	applied, err := readEvents(log)
	if err != nil {
		return nil, err
	}
	index, err := os.ReadFile(filepath.Join(objects, "index"))
	if err != nil {
		return nil, err
	}
	bodies := 0
	for line := range strings.Lines(string(index)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		text, err := os.ReadFile(filepath.Join(objects, file))
		if err != nil {
			return nil, err
		}
		e, ok := applied[path]
		switch {
		case !ok:
			missing = append(missing, path+": applied, and not in the audit log")
		case e.Level == "Metadata":
		default:
			bodies++
			var object any
			if json.Unmarshal(text, &object) != nil || !reflect.DeepEqual(object, e.RequestObject) {
				missing = append(missing, path+": the audit log has another body")
			}
		}
	}
	if bodies == 0 && len(missing) == 0 {
		return nil, fmt.Errorf("%s has no bodies of these objects; nothing was compared", log)
	}
	return missing, nil
}

// readEvents returns the events of the hook's accepted requests, by the path of the request.
func readEvents(log string) (map[string]event, error) {
	f, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	applied := map[string]event{}
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return applied, nil // a line without its end is still being written
		}
		if err != nil {
			return nil, err
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s: %w", log, err)
		}
		uri, err := url.Parse(e.RequestURI)
		if err == nil && e.Verb == "patch" && e.ResponseStatus.Code/100 == 2 &&
			uri.Query().Get("fieldManager") == "kiln" {
			applied[uri.Path] = e
		}
	}
}

// Command steps reads the plan of kiln plan -o json from standard input and prints what a script
// has to do, in this order: lines "replace MACHINE", "restart MACHINE", and "apply FILE" with the
// name of a file of API objects. It fails at a refusal, and at a step that no script can do.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

func main() {
	lines, err := read(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "steps:", err)
		os.Exit(1)
	}
	for _, line := range lines {
		fmt.Println(line)
	}
}

// plan is what steps knows of the plan.
type plan struct {
	Refused []struct{ Name, Why string }
	Steps   []struct {
		Do       string
		Machines []string
		How      []string
	}
}

// object is a line of a step that applies a file of API objects. The lines are one command.
var object = regexp.MustCompile(`^kubectl apply --server-side --force-conflicts ` +
	`-f objects/etc/kiln/objects/([a-z0-9._-]+)( &&)?$`)

func read(r io.Reader) (lines []string, err error) {
	var p plan
	if err := json.NewDecoder(r).Decode(&p); err != nil {
		return nil, fmt.Errorf("not the JSON of a plan: %w", err)
	}
	for _, refused := range p.Refused {
		return nil, fmt.Errorf("the plan is refused: %s: %s", refused.Name, refused.Why)
	}
	for _, step := range p.Steps {
		switch step.Do {
		case "replace", "restart":
			for _, machine := range step.Machines {
				lines = append(lines, step.Do+" "+machine)
			}
		case "apply":
			for _, how := range step.How {
				switch file := object.FindStringSubmatch(how); {
				case file != nil:
					lines = append(lines, "apply "+file[1])
				case strings.HasPrefix(how, "kiln unpack "), how == "rm -r objects":
				default:
					return nil, fmt.Errorf("step %s: %s: not known", step.Do, how)
				}
			}
		default:
			return nil, fmt.Errorf("step %s: not known", step.Do)
		}
	}
	return lines, nil
}

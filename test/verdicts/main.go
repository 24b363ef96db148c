// Command verdicts says what kiln finds in command lines, for judges that ask the programs
// themselves. It reads a list of questions in JSON from its input, and writes as many lists of
// messages: what kiln would refuse.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"kiln.dev/kiln/render/kube/flags"
)

// Question is one flag of a program of a minor.
type Question struct {
	Program     string
	Minor       int
	Name, Value string
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "verdicts:", err)
		os.Exit(1)
	}
}

// run answers the questions of in.
func run(in io.Reader, out io.Writer) error {
	var questions []Question
	if err := json.NewDecoder(in).Decode(&questions); err != nil {
		return err
	}
	answers := make([][]string, len(questions))
	for i, q := range questions {
		p, ok := flags.FindProgram(q.Program, q.Minor)
		if !ok {
			return fmt.Errorf("kiln knows no %s of 1.%d", q.Program, q.Minor)
		}
		for _, f := range p.Check([]flags.Arg{{Name: q.Name, Value: q.Value}}, nil) {
			if !f.Warning {
				answers[i] = append(answers[i], f.Word+" "+f.Message)
			}
		}
	}
	return json.NewEncoder(out).Encode(answers)
}

// Command missing says what the tests wanted and did not find on this computer, and what is not
// proven for that reason.
//
//	go run ./test/missing          the closing line of make test
//	go run ./test/missing -found   variables for the environment of go test, which keep Go from
//	                               repeating a verdict if a program came, went or changed
package main

import (
	"flag"
	"fmt"
	"strings"

	"kiln.dev/kiln/test/need"
)

func main() {
	found := flag.Bool("found", false, "print variables that say what is here")
	flag.Parse()
	if *found {
		fmt.Println(strings.Join(need.Variables(), " "))
		return
	}
	fmt.Println(need.Closing())
}

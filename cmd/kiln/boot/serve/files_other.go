//go:build !unix

package serve

import "math"

// openFiles returns a large number: other systems have no such limit for a program.
func openFiles() int { return math.MaxInt32 }

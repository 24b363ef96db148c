// Package rules holds kiln's rules of configuration files to the programs that read the files:
// testdata/kinds has, for each rule, a configuration that it refuses and one that it accepts, and
// the tests ask the programs' own code about both.
package rules

package templates

// Commands returns the names of the programs and functions that a part of a program runs.
var Commands = commands

package templates

// Commands returns the names of the programs and functions that a part of a program runs.
var Commands = commands

// Sources returns the sources of the hook's programs.
func Sources() []string {
	return []string{bootSource, reportSource, stepsSource, etcdSource, poolSource, fetchSource,
		checksSource}
}

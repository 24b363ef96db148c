package config

import (
	"maps"
	"slices"
)

// ForeignKeys returns the keys in the tables of foreign.go, sorted, each with the name of its type
// in front. Those of machines are under Machine, and those of a program of the control plane under
// the type of each program.
func ForeignKeys() (keys []string) {
	tables := maps.Clone(misplaced)
	for t, names := range renamed {
		tables[t] = maps.Clone(tables[t])
		if tables[t] == nil {
			tables[t] = map[string]string{}
		}
		maps.Copy(tables[t], names)
	}
	tables[machineType] = renamedInMachines
	for t, names := range tables {
		for key := range names {
			keys = append(keys, t.Name()+" "+key)
		}
	}
	slices.Sort(keys)
	return keys
}

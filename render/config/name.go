package config

import "regexp"

var machineName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

// IsMachineName reports whether a name that a stored file contains can be that of a node or a pool.
// It then has the characters of a DNS name and is not longer than one, so paths and URLs may
// contain it. Parse checks the names of a configuration more closely.
func IsMachineName(name string) bool { return machineName.MatchString(name) }

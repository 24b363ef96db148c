package config

import "regexp"

var machineName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

// IsMachineName reports whether a stored file can mean a node or a pool by a name: it has the
// characters and at most the length of a DNS name, so it may stand in paths and URLs. Parse checks a
// configuration's names more closely.
func IsMachineName(name string) bool { return machineName.MatchString(name) }

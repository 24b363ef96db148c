package config

import "regexp"

const maxHost = 253 // bytes of a name: RFC 1123. A pattern that counts them compiles too slowly.
var hostName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// IsMachineName reports whether a name that a stored file contains can be that of a node or a pool.
// It then has the characters of a DNS name and is not longer than one, so paths and URLs may
// contain it. Parse checks the names of a configuration more closely.
func IsMachineName(name string) bool { return len(name) <= maxHost && hostName.MatchString(name) }

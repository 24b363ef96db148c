package config

import (
	"slices"
	"strings"
)

// RegistryOf returns the index of the row for the images of a registry: its own, or that of all
// registries without one; -1 if there is neither.
func RegistryOf(rows []Registry, host string) int {
	i := slices.IndexFunc(rows, func(r Registry) bool { return r.Host == host })
	if i < 0 {
		i = slices.IndexFunc(rows, func(r Registry) bool { return r.Host == DefaultRegistry })
	}
	return i
}

// Password returns the password of a registry's user.
func (c *Cluster) Password(r *Registry) string {
	return strings.TrimRight(string(c.Text(r.PasswordFrom)), "\r\n")
}

//go:build !unix

package render

// lock does nothing where the system has no advisory locks on folders.
func lock(string) (unlock func(), err error) { return func() {}, nil }

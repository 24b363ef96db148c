//go:build !unix

package config_test

import "os"

// makeFIFO makes a folder: systems without named pipes refuse that just as well.
func makeFIFO(path string) error { return os.Mkdir(path, 0o700) }

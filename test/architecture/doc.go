// Package architecture holds tests that read the sources: how long files and packages are, and how
// many files of a package use each other. What packages may import is held by render/pure_test.go.
package architecture

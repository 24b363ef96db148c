// Package architecture holds tests that read the sources: how long files and packages are, how many
// files of a package use each other, and how wide lines are. What packages may import is held by
// render/pure_test.go.
package architecture

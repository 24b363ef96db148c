// Package architecture holds tests that read the sources: the wings and what they may import, their
// lines, what asks the machine for something, how many files of a package use each other, and how
// wide lines are.
package architecture

//go:build !unix

package serve

// The system has neither: opening never waits there, and a link shows by its mode alone.
const nonblock, nofollow = 0, 0

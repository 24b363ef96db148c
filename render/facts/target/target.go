// Package target holds what kiln renders documents for: operating systems, platforms and minor
// releases of Kubernetes, each a table with one row per target. It imports nothing of kiln, so
// the reading of cluster.yaml, the plan, the checks of the first boot and the boot media all use
// the same rows.
//
// A new operating system, platform or minor release is a new row. The tests of this package name
// what else the row needs: a golden cluster, and its name in the pages of docs/ that list all of
// them.
//
// Rows are read and never changed. What follows from them for one cluster stands in package plan.
package target

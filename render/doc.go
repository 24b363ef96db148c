// Package render drives the program: it reads a configuration and a bundle of secrets, sends them
// through the packages below it, and writes the whole result, or nothing. Those packages are pure:
// only this one and package folder touch the disk.
//
//	cluster.yaml
//	     |  Config: config.Parse              read, set defaults, validate
//	     v
//	config.Cluster
//	     |  New: plan.New                     derive every fact, once
//	     v
//	plan.Plan
//	     |  New, Node: package assembly       with pki.Bundle: files, units, links of each machine
//	     v
//	node.Node
//	     |  Check: package check              state what must hold of every machine
//	     v
//	node.Node
//	     |  Document: package document        pack into Ignition or cloud-init, split off a body
//	     v
//	document.Document
//	     |  Write: package folder             all files under temporary names, then rename
//	     v
//	the output folder
//
// Two packages take a node.Node another way. Package review writes what people may read of the
// machines, the review twin, which holds no secret; Write stores it too. Package explain finds
// where a value in a file comes from.
//
// render.go joins the packages. read.go, unpack.go, state.go and output.go read from the disk;
// write.go and files.go write to it, and twin.go does both with the folder of a review twin.
package render

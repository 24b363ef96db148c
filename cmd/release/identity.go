package main

// Who publishes kiln. A publisher elsewhere changes these, and README.md, after make module.
const (
	homepage   = "https://kiln.dev"
	releases   = homepage + "/releases" // below which each release has a folder with its version
	maintainer = "kiln <release@kiln.dev>"
)

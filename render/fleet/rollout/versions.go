package rollout

import (
	"regexp"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
)

// minor returns the minor of a version such as v1.36.3, or -1.
func minor(version string) int {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return -1
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		return -1
	}
	return n
}

// etcdVersion returns minor and patch of a member's etcd 3, or 0 if the name of its image does not
// say them.
func etcdVersion(m *change.Machine) (minor, patch int) {
	e := m.Entries.Find(change.Key{Kind: "file", ID: plan.ManifestPath(target.Etcd)})
	if e == nil {
		return 0, 0
	}
	if found := etcdImage.FindSubmatch(e.Content); found != nil {
		minor, _ = strconv.Atoi(string(found[1]))
		patch, _ = strconv.Atoi(string(found[2]))
	}
	return minor, patch
}

var etcdImage = regexp.MustCompile(`(?m)^ *(?:- )?image: "?\S*etcd\S*:v?3\.(\d+)\.(\d+)`)

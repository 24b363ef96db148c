package config

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
)

// version is a release of Kubernetes 1.
type version struct{ minor, patch int }

// noVersion is the version of a configuration whose version has a problem.
var noVersion version

// fullVersion matches a full version of Kubernetes 1.
var fullVersion = regexp.MustCompile(`^v1\.(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})$`)

// parseVersion reads a version such as v1.36.3. problem is why the text is not one, "" if it is.
func parseVersion(text string) (v version, problem string) {
	m := fullVersion.FindStringSubmatch(text)
	if m == nil {
		if fullVersion.MatchString("v" + text) {
			return version{}, fmt.Sprintf("%s has no v in front; write v%s", quote(text), text)
		}
		return version{}, fmt.Sprintf("%s is not a full version; write it like v1.36.3",
			quote(text))
	}
	minor, _ := strconv.Atoi(m[1]) // the pattern allows at most four digits
	patch, _ := strconv.Atoi(m[2])
	return version{minor, patch}, ""
}

// compare returns a number less than 0 if a is older than b, 0 if they are equal.
func (a version) compare(b version) int {
	return cmp.Or(cmp.Compare(a.minor, b.minor), cmp.Compare(a.patch, b.patch))
}

package kinds

import (
	"regexp"
	"strings"
)

// repository matches the path of an image, without its registry, its tag and its digest:
// github.com/distribution/reference v0.6.0, regexp.go.
var repository = regexp.MustCompile(
	`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)

// image returns what is wrong with the name of an image. The API server takes nearly any; the
// kubelet then reports InvalidImageName and starts nothing.
func image(v any) string {
	ref, _ := v.(string)
	name, _, _ := strings.Cut(ref, "@")
	if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
		name = name[:at]
	}
	first, rest, found := strings.Cut(name, "/")
	if found && (strings.ContainsAny(first, ".:") || first == "localhost" ||
		first != strings.ToLower(first)) {
		name = rest // the first part is a registry
	}
	switch {
	case found && first == "hub.docker.com":
		return Show(ref) + " is of a web site and no registry; write docker.io in its place"
	case strings.ContainsAny(ref, " \t\n"):
		return Show(ref) + " has a blank; no image has one in its name"
	case name != strings.ToLower(name):
		return Show(ref) + " has capital letters; the name of an image has none"
	case !repository.MatchString(name):
		return Show(ref) + " is no name of an image; write it like registry.k8s.io/web:v1.2.3"
	}
	return ""
}

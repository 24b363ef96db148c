package config

import "regexp"

// Parts of an image reference (https://github.com/distribution/reference, grammar in reference.go).
const (
	imageHost = `(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?`
	imagePath = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
	imageTag  = `:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}`
	imageHash = `@sha256:[0-9a-f]{64}`
)

var (
	imageRepository = format("repo")
	imageReference  = format("image")
	tagAndDigest    = regexp.MustCompile(imageTag + imageHash + `$`)
)

// imageName matches the name of an image as a pod may have it: without a digest, and with or
// without registry and tag.
var imageName = regexp.MustCompile(
	`^(?:` + imageHost + `/)?` + imagePath + `(?:/` + imagePath + `)*(?:` + imageTag + `)?$`)

// IsImageName reports whether a string is the name of an image, without a digest.
func IsImageName(text string) bool { return len(text) <= 512 && imageName.MatchString(text) }

package config

import (
	"fmt"
	"regexp"
)

// artifactVersion matches the version of an artifact.
var artifactVersion = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+([.+-][0-9A-Za-z.+-]*)?$`)

// artifactVersionProblem returns why a string is not the version of an artifact, "" if it is one.
func artifactVersionProblem(text string) string {
	switch {
	case artifactVersion.MatchString(text):
		return ""
	case artifactVersion.MatchString("v" + text):
		return fmt.Sprintf("%s has no v in front; write v%s", quote(text), text)
	}
	return fmt.Sprintf("%s is not a full version; write it like v2.3.6", quote(text))
}

// artifactURLProblem returns why a string is not a URL from which a machine can fetch, "" if it is
// one. The hook has it as one word of a line.
func artifactURLProblem(text string) string {
	if problem := urlProblem(text, "https", "http"); problem != "" {
		return problem
	}
	if !plainURL.MatchString(text) {
		return fmt.Sprintf("%s has characters that a URL has to escape; write them as %%20 and "+
			"so on", quote(text))
	}
	return ""
}

package flags

import (
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/text/wording"
)

// Words are the words that the value of a flag may have in one minor.
type Words struct {
	// Form is how the value is made of words. one: it is one of them. word: it is one of them, or
	// empty. list: it is a list with commas. signed: it is a list, a word may have a dash in
	// front, and * means all words. apis: it is a list of groups and versions of APIs, each with
	// =true or =false.
	Form string
	List []string // sorted
}

// Words returns the words that the value of a flag may have, and whether they are limited.
func (p Program) Words(flag string) (words Words, limited bool) {
	return p.knownWords.at(flag, p.minor)
}

// words checks a value against the words that the minor knows for its flag.
func (c *checker) words(i int, a Arg, flag string) (ok bool) {
	known, limited := c.Words(flag)
	switch {
	case !limited || strings.Contains(a.Value, `"`): // a list may have quoted words
		return true
	case known.Form == "apis":
		return c.apis(i, a.Value, known.List)
	}
	found := []string{a.Value}
	if known.Form != "word" && known.Form != "one" {
		found = strings.Split(a.Value, ",")
	}
	ok = true
	for _, word := range found {
		if known.Form == "signed" {
			if word == "*" {
				continue
			}
			word = strings.TrimPrefix(word, "-")
		}
		if slices.Contains(known.List, word) || word == "" && a.Value == "" && known.Form != "one" {
			continue
		}
		ok = false
		c.report(i, true, false, word, "is not a value of --%s of %s%s", flag, c,
			hintOf(word, known.List))
	}
	return ok
}

const maxWords = 8

// hintOf returns the end of a message about a word that is not among the known ones.
func hintOf(word string, known []string) string {
	if hint := wording.Hint(word, known); hint != "" {
		return hint
	}
	if len(known) <= maxWords {
		return "; write " + strings.Join(known, ", ")
	}
	return "; correct it, or remove it"
}

// apis checks the value of the flag runtime-config against the groups and versions of APIs, as the
// API server does (k8s.io/apiserver v0.36.3, pkg/server/resourceconfig/helpers.go:
// MergeAPIResourceConfigs, and pkg/server/options/api_enablement.go: Validate). ok reports whether
// all is well.
func (c *checker) apis(i int, value string, known []string) (ok bool) {
	ok = true
	wrong := func(word, format string, args ...any) {
		ok = false
		c.report(i, true, false, word, format, args...)
	}
	for pair := range strings.SplitSeq(value, ",") {
		api, on, _ := strings.Cut(pair, "=")
		api, on = strings.TrimSpace(api), strings.TrimSpace(on)
		group, version, _ := strings.Cut(coreGroup(api), "/")
		version, _, _ = strings.Cut(version, "/")
		switch name := group + "/" + version; {
		case pair == "" || api == "api/legacy": // the API server drops the second
		case slices.Contains(stages, api):
			if on != "true" && on != "false" {
				wrong(pair, "has neither true nor false; write %s=true or %s=false", api, api)
			}
		case version == "":
			wrong(api, "is no group and version of an API%s", versionsOf(group, known))
		case !slices.Contains(known, name):
			wrong(name, "is no group and version that %s knows%s", c, versionsOf(group, known))
		}
	}
	if strings.TrimSpace(value) == "api/all=false" {
		wrong(value, "leaves no API; name one too, such as api/all=false,api/v1=true")
	}
	return ok
}

// Serves reports whether an API server with a value of runtime-config serves an alpha or beta
// version of an API, such as batch/v2alpha1, or some resource of it. It does what method apis
// names.
func Serves(runtimeConfig, apiVersion string) bool {
	set := map[string]bool{}
	for pair := range strings.SplitSeq(runtimeConfig, ",") {
		api, value, _ := strings.Cut(pair, "=")
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		api = strings.TrimSpace(api)
		set[api] = on || err != nil
		if strings.HasPrefix(api, apiVersion+"/") && set[api] {
			return true
		}
	}
	stage := "api/beta"
	if strings.Contains(apiVersion, "alpha") {
		stage = "api/alpha"
	}
	for _, key := range []string{apiVersion, stage} {
		if on, ok := set[key]; ok {
			return on
		}
	}
	return set["api/all"]
}

// coreGroup returns a key of runtime-config with the name api for the core group. The API server
// also takes an empty name, or none (k8s.io/kubernetes v1.36.3,
// pkg/controlplane/apiserver/options/options.go: Complete).
func coreGroup(api string) string {
	if api == "v1" || strings.HasPrefix(api, "v1/") {
		return "api/" + api
	}
	if strings.HasPrefix(api, "/") {
		return "api" + api
	}
	return api
}

// stages are the words of runtime-config that stand for many versions.
var stages = []string{"api/all", "api/alpha", "api/beta", "api/ga"}

// versionsOf returns the versions of a group, or the group that was probably meant.
func versionsOf(group string, known []string) string {
	var versions, groups []string
	for _, name := range known {
		g, _, _ := strings.Cut(name, "/")
		groups = append(groups, g)
		if g == group {
			versions = append(versions, name)
		}
	}
	if len(versions) > 0 {
		return "; write " + strings.Join(versions, " or ")
	}
	if hint := wording.Hint(group, slices.Compact(groups)); hint != "" {
		return hint
	}
	return "; write a group and a version such as batch/v1, or remove it"
}

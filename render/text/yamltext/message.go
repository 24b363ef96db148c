package yamltext

import "regexp"

// Parts of the parsers' messages that quote the document.
var (
	unknownAnchor = regexp.MustCompile(`unknown anchor '[^']*' referenced`)
	quotedValue   = regexp.MustCompile("(?s)`.*`")
	badKey        = regexp.MustCompile("(?s)(unsupported|invalid) map key.*")
)

// Message returns what an error of a YAML parser says, without the values of the document that it
// quotes: they may be secret.
func Message(err error) string {
	text := unknownAnchor.ReplaceAllString(err.Error(),
		"a value begins with * and names no anchor; write quotation marks around it")
	text = badKey.ReplaceAllString(text, "a key is not a string; write quotation marks around it")
	return quotedValue.ReplaceAllString(text, "a value")
}

package secret

import (
	"regexp"
	"slices"
)

// assignment matches a value that is given to a name that ends like the name of a secret, as in
// PASSWORD=x, rd.luks.password=x, Environment="DB_PW=x" and --token=x. The value is its group.
var assignment = regexp.MustCompile(`(?i)(?:password|passwd|passphrase|secret|token|psk|` +
	`(?:^|[^a-z0-9])(?:pw|pass)|api_?key)["']?[ \t]*=[ \t]*["']?([^\s"']+)`)

// reference matches a value that is no secret: a variable, a specifier of systemd, a placeholder, a
// boolean, or a second sign of equality.
var reference = regexp.MustCompile(`(?i)^([$%<{(=\\].*|true|false|yes|no|none|null)[;,)}\]]*$`)

// stored matches a credential that stands in a unit of systemd (systemd.exec, SetCredential=).
var stored = regexp.MustCompile(`(?m)^[ \t]*SetCredential=[^:\s]+:[^\s]`)

// assigns reports whether a text gives a value to a name that suggests a secret.
func assigns(text []byte) bool {
	isValue := func(found [][]byte) bool { return !reference.Match(found[1]) }
	return stored.Match(text) ||
		slices.ContainsFunc(assignment.FindAllSubmatch(text, -1), isValue)
}

package templates

import (
	_ "embed" // for the source
	"regexp"
	"strings"
)

//go:embed boot/announce
var announceSource string

// Announce returns /etc/kiln/announce, mode 0600, on a machine that announces the state of its
// first boot: POSIX sh, which the hook starts beside itself. url and key are what plan and pki say;
// ca is the file with the CA of the server, empty for those that the system trusts.
func Announce(url, ca, key string) string {
	if ca != "" {
		url = "'--cacert " + ca + " " + url + "'"
	}
	return "api=" + url + " i=" + key + "\n" + dropComments(announceSource, true)
}

// announceKey matches the key in Announce.
var announceKey = regexp.MustCompile(`^(api=.* i=)([0-3]{64})\n`)

// AnnounceKey returns the key of HMAC in such a script. It is nil if there is none. The script has
// it with the inner pad in it.
func AnnounceKey(script []byte) []byte {
	m := announceKey.FindSubmatch(script)
	if m == nil {
		return nil
	}
	const innerPad = 0x36
	key := make([]byte, len(m[2]))
	for i, c := range m[2] {
		key[i] = c ^ innerPad
	}
	return key
}

// AnnounceShown returns the lines of such a script for a reviewer: the key's mark is in its place.
func AnnounceShown(script, mark string) []string {
	shown := announceKey.ReplaceAllString(script, "${1}<"+mark+">\n")
	return strings.Split(strings.TrimSuffix(shown, "\n"), "\n")
}

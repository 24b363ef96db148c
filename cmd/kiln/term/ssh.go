package term

import "strings"

// RootShell is what the shell of a machine runs to take a program: sh as root, which reads it from
// standard input. Every shell takes these quotes.
const RootShell = `sh -c 'test "$(id -u)" = 0 && exec sh -s; exec sudo -n sh -s'`

// CheckSSH returns an error if the value of --ssh is a flag of ssh.
func CheckSSH(target string) error {
	if strings.HasPrefix(target, "-") {
		return UsageErrorf("--ssh %s: that is a flag of ssh, and not a machine; put flags "+
			"into ssh's own configuration", target)
	}
	return nil
}

package config

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// sshKeyTypes are the types of public keys that current OpenSSH servers accept by default.
var sshKeyTypes = []string{
	"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa",
	"sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com",
}

var sshKeyFile = regexp.MustCompile(`^(~|\.{0,2}/|\$HOME).*|^[^\s]+\.pub$`)

// SSHKeyProblem returns why a line is not a public key of an authorized_keys file, "" if it is one.
// It never repeats the line: that may be something else, pasted by mistake.
func SSHKeyProblem(line string) string {
	const remedy = "paste the one line of a .pub file, such as ssh-ed25519 AAAA… name"
	if strings.Contains(line, "PRIVATE KEY-----") {
		return "holds a private key; write the public key, the one line of the .pub file beside it"
	}
	if hasControl(line) {
		return "has more than one line; write each key as an entry of its own"
	}
	if sshKeyFile.MatchString(line) {
		return "names a file; write its content, the one line of a .pub file"
	}
	parts := strings.Fields(line)
	if len(parts) < 2 {
		return "is not a public SSH key; " + remedy
	}
	kind := parts[0]
	if kind == "ssh-dss" {
		return "is a DSA key, which no current OpenSSH accepts; make an ed25519 key"
	}
	if !slices.Contains(sshKeyTypes, kind) {
		return "does not begin with the type of a key " +
			"(ssh-ed25519, ecdsa-sha2-nistp256, ssh-rsa, …); " + remedy
	}
	if len(parts) > 2 && slices.ContainsFunc(parts[2:], func(part string) bool {
		return slices.Contains(sshKeyTypes, part)
	}) {
		return "has two keys, and the second would be a comment; write each as an entry of its own"
	}
	blob, err := base64.StdEncoding.DecodeString(parts[1])
	if err != nil {
		return "is cut off or damaged; " + remedy
	}
	key, err := ssh.ParsePublicKey(blob)
	if err != nil {
		return "is cut off or damaged; " + remedy
	}
	if key.Type() != kind {
		return fmt.Sprintf("says %s, but the key is of type %s; %s", kind, key.Type(), remedy)
	}
	return ""
}

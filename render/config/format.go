package config

import (
	"fmt"
	"regexp"
	"strings"

	"kiln.dev/kiln/render/facts/target"
)

// Parts of patterns.
const (
	octet    = `(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])`
	ipv4     = octet + `(\.` + octet + `){3}`
	ipv6     = `[0-9A-Fa-f]*:[0-9A-Fa-f:.]+`
	dnsLabel = `[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`
	dnsName  = dnsLabel + `(\.` + dnsLabel + `)*`
	port     = `(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|` +
		`6([0-4][0-9]{3}|5([0-4][0-9]{2}|5([0-2][0-9]|3[0-5])))))?`
	fileUser  = `([a-z_][a-z0-9_-]{0,31}|0|[1-9][0-9]{0,8})`
	labelText = `[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?`
)

// formats are the patterns of strings. The tag `is` of a field names one of them. Every value that
// Parse accepts in the field matches; Parse may refuse a value that matches. The patterns mean the
// same to Go and to JSON Schema (ECMA-262).
var formats = map[string]string{
	"address":  `^(` + ipv4 + `|` + ipv6 + `)$`,
	"endpoint": `^((` + dnsName + `|\[` + ipv6 + `\])` + port + `|` + ipv6 + `)$`,
	"host":     `^(` + dnsName + `|` + ipv6 + `)$`,
	"image": `^` + imageHost + `(?:/` + imagePath + `)+` +
		`(?:` + imageTag + `(?:` + imageHash + `)?|` + imageHash + `)$`,
	"kubeletVersion": versionPattern(target.OldestMinor()-target.KubeletSkew, target.NewestMinor()),
	"label":          `^` + dnsLabel + `$`,
	"labelKey":       `^(` + dnsName + `/)?` + labelText + `$`,
	"labelValue":     `^(` + labelText + `)?$`,
	"localPath":      `^([^:]|:[^/]|:/[^/])*(:/?)?$`,
	"mode":           `^0[0-7]{3}$`,
	"name":           `^` + dnsName + `$`,
	"network": `^(` + ipv4 + `/(3[0-2]|[12]?[0-9])|` +
		ipv6 + `/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))$`,
	"owner":     `^` + fileUser + `:` + fileUser + `$`,
	"registry":  `^(_default|` + urlHost + port + `)$`,
	"repo":      `^` + imageHost + `(?:/` + imagePath + `)*$`,
	"san":       `^((\*\.)?` + dnsName + `|` + ipv6 + `)$`,
	"secureURL": `^https://[^/@\s?#]+[^@\s?#]*$`,
	"sshKey": `^\s*(ssh-ed25519\s+AAAAC3NzaC1lZDI1NTE5AAAAI[A-Za-z0-9+/]{43}|` +
		`(ssh-rsa|(sk-)?(ssh-ed25519|ecdsa-sha2-nistp(256|384|521))(@openssh\.com)?)` +
		`\s+AAAA[A-Za-z0-9+/]+={0,2})(\s|$)`,
	// A script has no line end of Windows in its first line, and one that begins with #! is for sh.
	"script":  `^((#![^\n]*(sh|busybox)\b|[^#\n]|#[^!\n])([^\n]*[^\r\n])?|#![ \t]*|#?)(\n|$)`,
	"text":    `\S`,
	"url":     `^https?://[^/@\s?#]+[^@\s?#]*$`,
	"version": versionPattern(target.OldestMinor(), target.NewestMinor()),
	// It is five minutes or more, as a sum of several units may be.
	"window": `h|m.*s|[0-9]{2}m|[5-9]m|[0-9]{3}s|[nuµ]s|\.`,
}

// versionPattern matches the full versions of some minors of Kubernetes 1.
func versionPattern(oldest, newest int) string {
	var minors []string
	for minor := oldest; minor <= newest; minor++ {
		minors = append(minors, fmt.Sprint(minor))
	}
	return `^v1\.(` + strings.Join(minors, "|") + `)\.(0|[1-9][0-9]{0,3})$`
}

// format returns the pattern of a format, compiled.
func format(name string) *regexp.Regexp { return regexp.MustCompile(formats[name]) }

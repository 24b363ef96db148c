package cloudinit

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// config is the part of #cloud-config that Pack writes, which every cloud-init from 22.4 to 26.2
// accepts without a warning. cloud-init reads it as YAML 1.1, where a bare word may be a date, a
// number in base 60 or a boolean, so every string is quoted or a literal block.
type config struct {
	PreserveHostname bool      `yaml:"preserve_hostname"`
	ManageEtcHosts   bool      `yaml:"manage_etc_hosts"`
	AuthorizedKeys   []quoted  `yaml:"ssh_authorized_keys,omitempty"` // of the image's default user
	Users            yaml.Node `yaml:"users,omitempty"`               // for Login, or passed on
	Bootcmd          []argv    `yaml:"bootcmd,omitempty"`
	WriteFiles       []file    `yaml:"write_files,omitempty"`
	// Passed holds the keys that are passed on, except users.
	Passed map[string]yaml.Node `yaml:",inline"`
}

// file is one entry of write_files.
type file struct {
	Path quoted `yaml:"path"`
	// octal, of four digits; a number would be read in base 10
	Permissions quoted `yaml:"permissions"`
	Owner       quoted `yaml:"owner"` // user:group
	Encoding    string `yaml:"encoding,omitempty"`
	Content     text   `yaml:"content"`
}

// defaultLogin is the entry of users for the image's default user; without it cloud-init does not
// make that user.
const defaultLogin = "default"

// login is one entry of users: the word default, or a name with keys.
type login struct {
	Name           quoted   `yaml:"name"`
	AuthorizedKeys []quoted `yaml:"ssh_authorized_keys"`
}

func (l login) MarshalYAML() (any, error) {
	if l.AuthorizedKeys == nil {
		return l.Name, nil
	}
	type entry login
	return entry(l), nil
}

// quoted is a string in double quotes.
type quoted string

func (q quoted) MarshalYAML() (any, error) {
	return scalar(string(q), yaml.DoubleQuotedStyle), nil
}

// text is a string that is written as a literal block if YAML 1.1 reads the same string from that,
// and else in double quotes.
type text string

func (t text) MarshalYAML() (any, error) {
	// A block that begins with a space needs an indentation indicator, which parsers count
	// differently. The other characters are line breaks of YAML 1.1, read as "\n", and the byte
	// order mark. The encoder itself quotes a space before a line break.
	if t == "" || strings.ContainsAny(string(t[:1]), " \t\n") ||
		strings.ContainsAny(string(t), "\r\u0085\u2028\u2029\ufeff") {
		return scalar(string(t), yaml.DoubleQuotedStyle), nil
	}
	return scalar(string(t), yaml.LiteralStyle), nil
}

// argv is a command as a list of words, which cloud-init quotes for the shell one by one.
type argv []string

func (a argv) MarshalYAML() (any, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, word := range a {
		n.Content = append(n.Content, scalar(word, yaml.DoubleQuotedStyle))
	}
	return n, nil
}

func scalar(s string, style yaml.Style) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: style, Value: s}
}

const base64Encoding = "b64"

// with returns the entry with a content: as it is if YAML 1.1 can hold it, else in base64.
func (f file) with(content []byte) file {
	f.Content = text(content)
	if !printable(content) || mentionsMIME(content) {
		f.Content, f.Encoding = text(base64.StdEncoding.EncodeToString(content)), base64Encoding
	}
	return f
}

// head returns the lines of an entry before its content.
func (f file) head() []byte {
	f.Content = ""
	return bytes.TrimSuffix(f.entry(), []byte("  content: \"\"\n"))
}

var emptyHead = file{}.head()

// entry returns f as it stands in the list write_files.
func (f file) entry() []byte {
	if text := f.plainEntry(); text != nil {
		return text
	}
	text, err := encodeYAML([]file{f})
	if err != nil {
		panic("cloudinit: strings cannot be encoded: " + err.Error())
	}
	return text
}

// plainEntry returns what the encoder writes for an entry of ASCII whose content is a block of
// lines, in a tenth of the time: every machine has some that no other has. It returns nil for all
// other entries.
func (f file) plainEntry() []byte {
	const special = "\"\\\n"
	isOther := func(r rune) bool { return (r < ' ' || r > '~') && r != '\n' }
	content := string(f.Content)
	switch head := string(f.Path + f.Permissions + f.Owner); {
	case f.Encoding != "" || strings.ContainsFunc(head+content, isOther),
		strings.ContainsAny(head, special),
		strings.HasPrefix(content, " ") || strings.HasPrefix(content, "\n"),
		!strings.HasSuffix(content, "\n") || strings.HasSuffix(content, "\n\n"),
		strings.Contains(content, " \n"):
		return nil
	}
	text := fmt.Appendf(nil, "- path: %q\n  permissions: %q\n  owner: %q\n  content: |\n",
		f.Path, f.Permissions, f.Owner)
	for line := range strings.Lines(content) {
		if line != "\n" {
			text = append(text, "    "...)
		}
		text = append(text, line...)
	}
	return text
}

// encodeYAML returns a part of a cloud-config as it stands in one.
func encodeYAML(part any) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	e.CompactSeqIndent()
	err := e.Encode(part)
	return b.Bytes(), errors.Join(err, e.Close())
}

// decode returns the content of an entry.
func decode(content text, encoding string) ([]byte, error) {
	switch encoding {
	case "":
		return []byte(content), nil
	case base64Encoding:
		return base64.StdEncoding.DecodeString(string(content))
	}
	return nil, errors.New("its encoding is none that kiln writes")
}

// printable reports whether content is UTF-8 with characters that a YAML 1.1 stream may hold
// (https://yaml.org/spec/1.1/#c-printable).
func printable(content []byte) bool {
	for len(content) > 0 {
		r, size := utf8.DecodeRune(content)
		switch {
		case r == utf8.RuneError && size == 1:
			return false
		case r == '\t', r == '\n', r == '\r', r == 0x85:
		case r < 0x20, 0x7f <= r && r < 0xa0, r == 0xfffe, r == 0xffff:
			return false
		}
		content = content[size:]
	}
	return true
}

// mentionsMIME reports whether cloud-init would take a document for a MIME message if b is the
// beginning of it, up to 4096 bytes (convert_string in cloudinit/user_data.py, 22.4 to 26.2).
func mentionsMIME(b []byte) bool {
	const name = "mime-version"
	for i, c := range b {
		if c == ':' && i >= len(name) && bytes.EqualFold(b[i-len(name):i], []byte(name)) {
			return true
		}
	}
	return false
}

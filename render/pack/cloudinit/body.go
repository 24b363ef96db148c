package cloudinit

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/compress"
	"kiln.dev/kiln/render/text/wording"
)

// A body is a script of POSIX sh: functions, and then one line for each user, directory, file, link
// and unit of the machine; a file's content follows its line. The machine needs no archive program,
// and the script may be killed at any line and run again. Its two parts run at different times:
// users, directories and files when bootcmd and write_files do, links and units after them
// (start.go).
const (
	bodyHead = "#!/bin/sh\n# What a machine fetches, made by kiln. " +
		"sh body files|units does the one part of it or the other.\n"

	bodyFunctions = `set -eu
umask 077
part=$1 root=${2-}
label() { ! command -v restorecon >/dev/null || restorecon "$@" || :; }
user() {
	[ "$part" = files ] || return 0
	getent group "$1" >/dev/null || groupadd --system --gid "$2" "$1"
	getent passwd "$1" >/dev/null || useradd --system --uid "$2" --gid "$1" --no-create-home ` +
		`${3:+--home-dir "$3"} --shell /usr/sbin/nologin "$1"
}
dir() {
	[ "$part" = files ] || return 0
	(umask 022 && install -d -m "$1" -o "$2" -g "$3" -- "$root$4")
	label "$root$4"
}
file() {
	[ "$part" = files ] || { cat >/dev/null; return 0; }
	at=$root$4
	(umask 022 && mkdir -p -- "${at%/*}/")
	rm -f -- "$at.kiln-new"
	set -C
	if [ "$5" = b64 ]; then base64 -d; else cat; fi >"$at.kiln-new"
	chown "$2:$3" -- "$at.kiln-new"
	chmod "$1" -- "$at.kiln-new"
	mv -f -- "$at.kiln-new" "$at"
	label "${at%/*}/" "$at"
}
link() {
	[ "$part" = units ] || return 0
	at=$root$2
	[ -e "$at" ] || [ -L "$at" ] || { mkdir -p -- "${at%/*}/" && ln -s -- "$1" "$at"; }
}
unit() {
	[ "$part" = units ] || return 0
	systemctl "$@"
}
`
	bodyEnd = "[ \"$part\" = units ] || sync\n"
	// contentEnd is the line that ends a file's content.
	contentEnd = "KILN-END"
)

// Body returns the script that sets up the machine n, without its keys, which stay in the document,
// and its network-config. It fails, as Pack does, if n has what cloud-init cannot express.
func Body(n *node.Node) ([]byte, error) {
	if err := check(n); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(bodyHead + bodyFunctions)
	line := func(words ...string) { b.WriteString(shellLineOf(words) + "\n") }
	for _, u := range n.Users {
		line("user", u.Name, strconv.Itoa(u.ID), u.Home)
	}
	for _, d := range n.Dirs {
		line("dir", octal(d.Mode), node.Owner(d.User), node.Owner(d.Group), d.Path)
	}
	for _, f := range n.Alike() {
		content, form := string(f.Content), "text"
		if !inLines(f.Content) {
			content, form = base64.StdEncoding.EncodeToString(f.Content)+"\n", "b64"
		}
		line("file", octal(f.Mode), node.Owner(f.User), node.Owner(f.Group), f.Path, form)
		b.Truncate(b.Len() - 1)
		b.WriteString(" <<'" + contentEnd + "'\n" + content + contentEnd + "\n")
	}
	for _, l := range n.Links {
		line("link", l.Target, l.Path)
	}
	for _, words := range unitCommands(n.Units) {
		line(append([]string{"unit"}, words...)...)
	}
	b.WriteString(bodyEnd)
	return b.Bytes(), nil
}

// inLines reports whether content can be in a script unchanged: lines of ASCII, none of which ends
// it early. Shells differ in other bytes.
func inLines(content []byte) bool {
	if len(content) > 0 && content[len(content)-1] != '\n' {
		return false
	}
	for _, c := range content {
		if c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return !bytes.Contains(append([]byte("\n"), content...), []byte("\n"+contentEnd+"\n"))
}

// shellLineOf returns the line of sh that has these words.
func shellLineOf(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = wording.ShellWord(word)
	}
	return strings.Join(quoted, " ")
}

// UnpackBody returns the machine that a body sets up. It fails at the first line that Body does not
// write.
func UnpackBody(doc []byte) (node.Node, error) {
	var n node.Node
	if len(doc) > compress.MaxDocument {
		return n, fmt.Errorf("the body is larger than %d bytes", compress.MaxDocument)
	}
	rest, ok := strings.CutPrefix(string(doc), bodyHead+bodyFunctions)
	if !ok {
		return n, errors.New("the body was not made by this kiln, or is damaged")
	}
	if rest, ok = strings.CutSuffix(rest, bodyEnd); !ok {
		return n, errors.New("the body is cut off")
	}
	for number := 1; rest != ""; number++ {
		words, after, err := shellLine(rest)
		if err == nil {
			rest, err = readBodyLine(words, after, &n)
		}
		if err != nil {
			return n, fmt.Errorf("the body's thing %d: %w", number, err)
		}
	}
	return n.Delivered(), nil
}

// readBodyLine adds to n what a line makes. It takes the text after the line, and returns the text
// after everything that belongs to the line.
func readBodyLine(words []string, rest string, n *node.Node) (string, error) {
	switch {
	case len(words) == 4 && words[0] == "user":
		id, err := strconv.Atoi(words[2])
		if err != nil {
			return rest, errors.New("the number of its user is none")
		}
		n.Users = append(n.Users, node.User{Name: words[1], ID: id, Home: words[3]})
		return rest, nil
	case len(words) == 5 && words[0] == "dir":
		mode, err := permissions(words[1])
		n.Dirs = append(n.Dirs, node.Dir{Path: words[4], Mode: mode, User: words[2],
			Group: words[3]})
		return rest, err
	case len(words) == 7 && words[0] == "file" && words[6] == "<<"+contentEnd:
		f := node.File{Path: words[4], User: words[2], Group: words[3]}
		var err error
		if f.Mode, err = permissions(words[1]); err != nil {
			return rest, err
		}
		content, after, found := strings.Cut("\n"+rest, "\n"+contentEnd+"\n")
		if !found {
			return rest, fmt.Errorf("file %s: its content is cut off", f.Path)
		}
		content = strings.TrimPrefix(content+"\n", "\n")
		f.Content = []byte(content)
		if words[5] == "b64" {
			f.Content, err = base64.StdEncoding.DecodeString(strings.TrimSuffix(content, "\n"))
		}
		n.Files = append(n.Files, f)
		return after, err
	case len(words) == 3 && words[0] == "link":
		n.Links = append(n.Links, node.Link{Target: words[1], Path: words[2]})
		return rest, nil
	case len(words) > 1 && words[0] == "unit" && readUnitCommand(words[1:], n):
		return rest, nil
	}
	// the line may hold a secret, so the error does not quote it
	return rest, errors.New("it is nothing that kiln writes")
}

// shellLine returns the words of the first line of text, which wording.ShellWord quoted, and the
// text after the line.
func shellLine(text string) (words []string, rest string, err error) {
	var word strings.Builder
	begun, quoted := false, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'':
			quoted, begun = !quoted, true
		case quoted:
			word.WriteByte(c)
		case c == '\\' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
			begun = true
		case c == ' ' || c == '\n':
			if begun {
				words = append(words, word.String())
			}
			if c == '\n' {
				return words, text[i+1:], nil
			}
			word.Reset()
			begun = false
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	return nil, "", errors.New("it is cut off")
}

package verify

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/facts/node"
)

// MaxListing is how many bytes a listing may have.
const MaxListing = 4 << 20

// maxBefore is how many bytes may come before a listing: what a shell greets with.
const maxBefore = 16 << 10

// header is the first line of a listing.
const header = "kiln-listing 2"

// Listing is what a machine says of itself. It holds hashes of secret files.
type Listing struct {
	list, made    string // identities: of the list on the machine, and of the document; "" without
	done          bool
	alike         string // the SHA-256 of the manifest of etcd, without what the hook may write
	entries       map[string]entry
	units         map[string]unit
	dropIns, pods []string
}

// kind is what is at a path.
type kind string

const (
	file   kind = "a file"
	folder kind = "a folder"
	link   kind = "a link"
	other  kind = "something else"
	none   kind = "nothing"
)

// entry is what is at a path of the document.
type entry struct {
	kind                  kind
	sum                   string // of a file
	mode                  uint32
	uid, gid, user, group string
	target                string // of a link
}

// unit is what systemd says of a unit.
type unit struct {
	load, state string
	files       []string // its own file and its drop-ins
}

// Parse reads the listing of a machine that the Script of this document printed. It fails if the
// listing is of another script, is not whole, or is not one at all. Its errors quote the listing
// only where it has no hash.
func Parse(n *node.Node, data []byte) (*Listing, error) {
	p := parser{
		l:     &Listing{entries: map[string]entry{}, units: map[string]unit{}},
		known: map[string]bool{}, names: units(n),
	}
	for _, path := range paths(n) {
		p.known[path] = true
	}
	text, err := body(data)
	if err != nil {
		return nil, err
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if p.ended || !strings.HasSuffix(line, "\n") {
			return nil, errors.New("the listing is cut off, or has more after its end")
		}
		if err := p.line(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, fmt.Errorf("the listing, line %d: %w", number, err)
		}
	}
	if !p.ended {
		return nil, errors.New("the listing is cut off: it has no end")
	}
	return p.l, p.whole(n)
}

// body returns the listing without the lines before it and without its header.
func body(data []byte) (string, error) {
	if len(data) > MaxListing {
		return "", fmt.Errorf("the listing is larger than %d MiB", MaxListing>>20)
	}
	at := 0
	if !bytes.HasPrefix(data, []byte(header+"\n")) {
		at = bytes.Index(data, []byte("\n"+header+"\n")) + 1
		if at == 0 || at > maxBefore {
			return "", fmt.Errorf("this is no listing: it does not begin with %q; "+
				"kiln verify DOCUMENT --script prints the program that makes one", header)
		}
	}
	return string(data[at+len(header)+1:]), nil
}

// whole returns an error unless the listing has all paths and units of the document and no others.
func (p *parser) whole(n *node.Node) error {
	for _, path := range paths(n) {
		switch e, ok := p.l.entries[path]; {
		case !ok:
			return fmt.Errorf("the listing has nothing about %q: %w", path, errScript)
		case e.kind == file && e.sum == "":
			return fmt.Errorf("%q could not be read on the machine", path)
		}
	}
	for _, name := range units(n) {
		if p.l.units[name].load == "" {
			return fmt.Errorf("the listing has nothing about the unit %q: systemctl gave no "+
				"answer on the machine", name)
		}
	}
	return nil
}

type parser struct {
	l     *Listing
	known map[string]bool // the paths of the document
	names []string        // of its units
	ended bool
}

var (
	hash   = regexp.MustCompile(`^[0-9a-f]{64}$`)
	number = regexp.MustCompile(`^[0-9]{1,10}$`)

	errLine   = errors.New("not as kiln's program prints it")
	errScript = errors.New("it is of the script of another document; make it again")
)

// line reads one line.
func (p *parser) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "list":
		return identity(&p.l.list, rest)
	case "made":
		return identity(&p.l.made, rest)
	case "done":
		p.l.done = rest == "yes"
		return check(rest == "yes" || rest == "no")
	case "none":
		return p.add(rest, entry{kind: none})
	case "is":
		return p.is(rest)
	case "sum":
		return p.sum(rest)
	case "alike":
		return identity(&p.l.alike, rest)
	case "link":
		target, path, _ := strings.Cut(rest, " ")
		name, err := decode(target)
		if err != nil {
			return err
		}
		return p.add(path, entry{kind: link, target: name})
	case "units":
		return p.units(rest)
	case "dropin":
		return appendName(&p.l.dropIns, rest)
	case "pod":
		return appendName(&p.l.pods, rest)
	case "end":
		p.ended = true
		return check(rest == "")
	}
	return errLine
}

func check(ok bool) error {
	if !ok {
		return errLine
	}
	return nil
}

func identity(field *string, text string) error {
	if text != "-" {
		*field = text
	}
	return check(text == "-" || hash.MatchString(text))
}

// types are kinds by the type of a file, which st_mode has above its rights: inode(7).
var types = map[uint64]kind{0o10: file, 0o04: folder}

// is reads MODE UID:GID USER:GROUP .PATH.
func (p *parser) is(text string) error {
	words := strings.SplitN(text, " ", 4)
	if len(words) < 4 {
		return errLine
	}
	mode, err := strconv.ParseUint(words[0], 16, 32)
	e := entry{kind: cmp.Or(types[mode>>12], other), mode: uint32(mode & 0o7777)}
	e.uid, e.gid, _ = strings.Cut(words[1], ":")
	e.user, e.group, _ = strings.Cut(words[2], ":")
	if err != nil || !number.MatchString(e.uid) || !number.MatchString(e.gid) {
		return errLine
	}
	return p.add(strings.TrimPrefix(words[3], "."), e)
}

// sum reads SUM  .PATH, as sha256sum prints it.
func (p *parser) sum(text string) error {
	sum, path, _ := strings.Cut(text, "  .")
	e := p.l.entries[path]
	if !p.known[path] {
		return errScript
	}
	if !hash.MatchString(sum) || e.kind != file || e.sum != "" {
		return errLine
	}
	e.sum = sum
	p.l.entries[path] = e
	return nil
}

// add adds what is at a path.
func (p *parser) add(path string, e entry) error {
	if !p.known[path] {
		return errScript
	}
	_, twice := p.l.entries[path]
	p.l.entries[path] = e
	return check(!twice)
}

// units reads HEX: for each unit of the document, in their order, lines NAME=VALUE of systemctl
// show. An empty line is between two units.
func (p *parser) units(encoded string) error {
	text, err := decode(encoded)
	if err != nil || len(p.l.units) > 0 {
		return errLine
	}
	blocks := strings.Split(strings.TrimRight(text, "\n"), "\n\n")
	if len(blocks) != len(p.names) {
		return fmt.Errorf("systemctl tells of %d units in place of %d: it gave no answer on the "+
			"machine, or the listing is of another document", len(blocks), len(p.names))
	}
	for i, block := range blocks {
		var u unit
		for line := range strings.SplitSeq(block, "\n") {
			switch property, value, _ := strings.Cut(line, "="); property {
			case "LoadState":
				u.load = value
			case "UnitFileState":
				u.state = value
			case "FragmentPath", "DropInPaths":
				u.files = append(u.files, strings.Fields(value)...)
			default:
				return errLine
			}
		}
		p.l.units[p.names[i]] = u
	}
	return nil
}

// appendName appends a name that the machine gives in hexadecimal.
func appendName(list *[]string, text string) error {
	name, err := decode(text)
	*list = append(*list, name)
	return err
}

func decode(text string) (string, error) {
	name, err := hex.DecodeString(text)
	if err != nil {
		return "", errLine
	}
	return string(name), nil
}

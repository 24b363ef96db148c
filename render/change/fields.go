package change

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// Field is one value that differs. Of a list that has no order each member that came or went is a field of its own.
type Field struct {
	Name string  `json:"name"` // a path of keys, a flag, a directive, a part of a certificate; empty for a line of a text
	Old  *string `json:"old,omitempty"`
	New  *string `json:"new,omitempty"`
}

// fields collects what differs between two things.
type fields []Field

func (f *fields) add(name string, old, new *string) { *f = append(*f, Field{name, old, new}) }

// value adds a value that is there on both sides, or on one: an empty one is not there.
func (f *fields) value(name, old, new string) {
	if old == new {
		return
	}
	f.add(name, present(old), present(new))
}

func present(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// set adds the members that only one side has, in the order in which they stand there.
func (f *fields) set(name string, old, new []string) {
	count := map[string]int{}
	for _, s := range new {
		count[s]++
	}
	for _, s := range old {
		if count[s]--; count[s] < 0 {
			f.add(name, &s, nil)
		}
	}
	clear(count)
	for _, s := range old {
		count[s]++
	}
	for _, s := range new {
		if count[s]--; count[s] < 0 {
			f.add(name, nil, &s)
		}
	}
}

// differences compares two things at one place, by what they are.
func differences(k key, old, new *thing) []Field {
	var f fields
	for _, name := range slices.Sorted(maps.Keys(merged(old.traits, new.traits))) {
		f.value(name, old.traits[name], new.traits[name])
	}
	if a, b := generationOf(old.secret), generationOf(new.secret); told(a, b) {
		f.value("secret", a, b)
	}
	f.shown(k, old.shown, new.shown)
	if old.content != nil && new.content != nil && !bytes.Equal(old.content, new.content) {
		f.content(k, old.content, new.content)
	}
	return f
}

// generationOf is a secret without the machine that holds it, so that equal changes on many machines look equal.
func generationOf(secret string) string {
	name, generation, ok := strings.Cut(secret, " ")
	if !ok {
		return secret
	}
	base, _, _ := strings.Cut(name, "/")
	return base + " " + generation
}

// Unknown is a secret of which a state has no name: documents do not carry them.
const Unknown = "unknown"

// told says that both states tell what a secret is, or that one has none.
func told(old, new string) bool {
	for _, s := range []string{old, new} {
		if s == Unknown || s != "" && !generation.MatchString(s) && old != "" && new != "" && (generation.MatchString(old) || generation.MatchString(new)) {
			return false
		}
	}
	return true
}

var generation = regexp.MustCompile(` g[0-9]+$`)

// ObjectsDir is where the objects lie that the API server is to hold. Their files are numbered in the order in which they are applied, so
// that a new one moves those behind it: the number is no part of what they are.
const ObjectsDir = "/etc/kiln/objects/"

var number = regexp.MustCompile(`^[0-9]{3}-`)

// place is what a thing is told by: objects without their numbers.
func (k key) place() key {
	if dir, name := path.Split(k.id); k.kind == "file" && dir == ObjectsDir {
		return key{k.kind, dir + number.ReplaceAllString(name, "")}
	}
	return k
}

// shown compares what stands in place of contents: certificates by their parts, other lines as they are.
func (f *fields) shown(k key, old, new []string) {
	oldCerts, oldRest := certificates(old)
	newCerts, newRest := certificates(new)
	for i := range max(len(oldCerts), len(newCerts)) {
		var a, b certificate
		if i < len(oldCerts) {
			a = oldCerts[i]
		}
		if i < len(newCerts) {
			b = newCerts[i]
		}
		f.certificate(a, b)
	}
	if k.id == ObjectsDir+"index" {
		for _, list := range [][]string{oldRest, newRest} {
			for i := range list {
				list[i] = number.ReplaceAllString(list[i], "")
			}
		}
	}
	f.set("", oldRest, newRest)
}

// certificate is what a twin says of one.
type certificate struct {
	generation string
	parts      map[string]string
}

// certificateParts are the parts of a certificate's line, by their first word; the one without is the kind of key.
var certificateParts = []string{"subject", "issuer", "for", "from", "until", "fingerprint", "names"}

// certificates separates the lines of certificates from the others.
func certificates(list []string) (certs []certificate, rest []string) {
	for _, line := range list {
		text, ok := strings.CutPrefix(line, "certificate")
		name, parts, found := strings.Cut(text, ": ")
		if !ok || !found {
			rest = append(rest, line)
			continue
		}
		c := certificate{generation: generationOf(strings.TrimSpace(name)), parts: map[string]string{}}
		for part := range strings.SplitSeq(parts, "; ") {
			word, value, _ := strings.Cut(part, " ")
			if !slices.Contains(certificateParts, word) {
				word, value = "key", part
			}
			c.parts[word] = value
		}
		certs = append(certs, c)
	}
	return certs, rest
}

func (f *fields) certificate(old, new certificate) {
	if told(old.generation, new.generation) {
		f.value("certificate", old.generation, new.generation)
	}
	for _, part := range append(certificateParts, "key") {
		a, b := old.parts[part], new.parts[part]
		switch {
		case a == b:
		case part == "names" || part == "for":
			f.set("certificate "+part, commas(a), commas(b))
		default:
			f.value("certificate "+part, a, b)
		}
	}
}

func commas(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// content compares two texts as what their file's name says they are, or line by line.
func (f *fields) content(k key, old, new []byte) {
	if !utf8.Valid(old) || !utf8.Valid(new) {
		f.value("content", strconv.Itoa(len(old))+" bytes, not text", strconv.Itoa(len(new))+" bytes, not text")
		return
	}
	before := len(*f)
	switch form(k) {
	case "yaml":
		var a, b any
		if documents(old) == 1 && documents(new) == 1 && yaml.Unmarshal(old, &a) == nil && yaml.Unmarshal(new, &b) == nil && structured(a) && structured(b) {
			f.values("", a, b)
		}
	case "unit":
		f.settings(directives(old), directives(new))
	case "settings":
		if a, b := assignments(old), assignments(new); a != nil && b != nil {
			f.settings(a, b)
		}
	case "checks":
		f.checks(old, new)
	case "program":
		f.value("program", strconv.Itoa(len(lines(old)))+" lines", strconv.Itoa(len(lines(new)))+" others")
	case "routes":
		f.routes(old, new)
	}
	if len(*f) == before {
		f.set("", lines(old), lines(new))
	}
	if len(*f) == before {
		// Only an order, or what a reader of the format does not see.
		f.add("", pointer("(the same in another order or form)"), pointer(""))
	}
}

func pointer(s string) *string { return &s }

// form is what a file is written in, by its name.
func form(k key) string {
	if k.kind != "file" {
		return "yaml" // network-config, and JSON is YAML
	}
	switch dir := path.Dir(k.id); path.Ext(k.id) {
	case ".yaml", ".yml", ".json", ".conflist":
		return "yaml"
	case ".service", ".timer", ".socket", ".mount", ".path", ".target", ".network", ".netdev", ".link", ".slice":
		return "unit"
	case ".conf":
		switch {
		case dir == "/etc/kubernetes":
			return "yaml" // kubeconfigs
		case strings.HasPrefix(dir, "/etc/systemd/"):
			return "unit"
		case dir == "/etc/sysctl.d":
			return "settings"
		}
	}
	return kilnFiles[k.id]
}

// kilnFiles are the forms of the hook's files (templates/doc.go). Its programs change with kiln and with what a machine has; git shows them line
// by line.
var kilnFiles = map[string]string{
	"/etc/kiln/machine": "settings", "/etc/kiln/checks": "checks", "/etc/kiln/routes": "routes",
	"/etc/kiln/boot": "program", "/etc/kiln/steps": "program", "/etc/kiln/report": "program", "/etc/kiln/keep-routes": "program", "/etc/kiln/backup": "program",
}

// documents counts the documents of a YAML stream.
func documents(text []byte) int {
	return 1 + bytes.Count(bytes.TrimPrefix(text, []byte("---\n")), []byte("\n---"))
}

func structured(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// values compares two values of a YAML document, at path.
func (f *fields) values(at string, old, new any) {
	switch a := old.(type) {
	case map[string]any:
		if b, ok := new.(map[string]any); ok {
			for _, name := range slices.Sorted(maps.Keys(merged(a, b))) {
				f.member(joined(at, name), a, b, name)
			}
			return
		}
	case []any:
		if b, ok := new.([]any); ok {
			f.lists(at, a, b)
			return
		}
	case string:
		if b, ok := new.(string); ok && strings.Contains(a+b, "\n") {
			f.texts(at, a, b)
			return
		}
	}
	f.value(at, written(old), written(new))
}

func (f *fields) member(at string, old, new map[string]any, name string) {
	a, had := old[name]
	b, has := new[name]
	switch {
	case had && has:
		f.values(at, a, b)
	case had && listed(a):
		f.lists(at, a.([]any), []any{})
	case has && listed(b):
		f.lists(at, []any{}, b.([]any))
	case had:
		f.add(at, pointer(written(a)), nil)
	default:
		f.add(at, nil, pointer(written(b)))
	}
}

// listed says that v is a list whose members are told one by one.
func listed(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) > 0
}

// joined is the path of a key below another.
func joined(at, name string) string {
	if at == "" {
		return name
	}
	if strings.ContainsAny(name, ". ") {
		return at + "[" + name + "]"
	}
	return at + "." + name
}

// merged has the keys of both.
func merged[K comparable, V any](a, b map[K]V) map[K]V {
	out := maps.Clone(a)
	if out == nil {
		out = map[K]V{}
	}
	maps.Copy(out, b)
	return out
}

// identities are the keys by which the objects of a list are known, the first that all of them have, each another.
var identities = []string{"name", "mountPath", "key", "containerPort", "path", "type"}

// lists compares two lists: command lines by their flags, objects by what they are known by, values as a set.
func (f *fields) lists(at string, old, new []any) {
	a, aTexts := texts(old)
	b, bTexts := texts(new)
	if aTexts && bTexts {
		if isCommand(a) || isCommand(b) {
			f.settings(flags(at, a), flags(at, b))
			return
		}
		f.set(at, a, b)
		if slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))) {
			f.value(at, strings.Join(a, " "), strings.Join(b, " "))
		}
		return
	}
	for _, id := range identities {
		x, xOK := byIdentity(old, id)
		y, yOK := byIdentity(new, id)
		if !xOK || !yOK {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(merged(x, y))) {
			f.member(at+"["+name+"]", x, y, name)
		}
		return
	}
	for i := range max(len(old), len(new)) {
		x, y := map[string]any{}, map[string]any{}
		if i < len(old) {
			x[""] = old[i]
		}
		if i < len(new) {
			y[""] = new[i]
		}
		f.member(fmt.Sprintf("%s[%d]", at, i), x, y, "")
	}
}

// texts returns a list's members if all are plain values.
func texts(list []any) ([]string, bool) {
	out := make([]string, len(list))
	for i, v := range list {
		if structured(v) {
			return nil, false
		}
		out[i] = written(v)
	}
	return out, true
}

func byIdentity(list []any, id string) (map[string]any, bool) {
	out := map[string]any{}
	for _, v := range list {
		m, ok := v.(map[string]any)
		if !ok || m[id] == nil {
			return nil, false
		}
		name := written(m[id])
		if out[name] != nil {
			return nil, false
		}
		out[name] = m
	}
	return out, true
}

// texts compares two long texts inside a document: those that are YAML themselves by their keys.
func (f *fields) texts(at, old, new string) {
	var a, b any
	if yaml.Unmarshal([]byte(old), &a) == nil && yaml.Unmarshal([]byte(new), &b) == nil && structured(a) && structured(b) {
		f.values(at, a, b)
		return
	}
	f.set(at, lines([]byte(old)), lines([]byte(new)))
}

// written is a value on one line.
func written(v any) string {
	switch v := v.(type) {
	case string:
		if v == "" || strings.Contains(v, "\n") {
			return strconv.Quote(v)
		}
		return v
	case nil:
		return "null"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// setting is one flag, directive or assignment. A name may repeat.
type setting struct {
	name   string
	values []string
}

// settings compares values by name. Where both sides have a list of several members, its members are compared.
func (f *fields) settings(old, new []setting) {
	a, order := collected(old, nil)
	b, order := collected(new, order)
	for _, name := range order {
		x, y := a[name], b[name]
		if len(x) == 1 && len(y) == 1 {
			if sep := separator(x[0], y[0]); sep != "" {
				x, y = strings.Split(x[0], sep), strings.Split(y[0], sep)
			} else {
				f.value(name, quoted(x[0]), quoted(y[0]))
				continue
			}
		}
		f.set(name, x, y)
		if len(x) == len(y) && !slices.Equal(x, y) && slices.Equal(slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))) {
			f.value(name, strings.Join(x, " "), strings.Join(y, " "))
		}
	}
}

func collected(list []setting, order []string) (map[string][]string, []string) {
	out := map[string][]string{}
	for _, s := range list {
		if !slices.Contains(order, s.name) {
			order = append(order, s.name)
		}
		out[s.name] = append(out[s.name], s.values...)
	}
	return out, order
}

// quoted shows an empty value, which is not an absent one.
func quoted(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

// separator is what separates the members of two lists that share at least one; empty if they are no lists.
func separator(old, new string) string {
	for _, sep := range []string{" ", ","} {
		a, b := strings.Split(old, sep), strings.Split(new, sep)
		if len(a)+len(b) > 2 && slices.ContainsFunc(a, func(s string) bool { return s != "" && slices.Contains(b, s) }) {
			return sep
		}
	}
	return ""
}

func isCommand(list []string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, "--") })
}

// flags reads a command line.
func flags(at string, words []string) (out []setting) {
	for i, word := range words {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case !strings.HasPrefix(word, "-"):
			out = append(out, setting{strings.TrimSpace(at + " argument " + strconv.Itoa(i)), []string{word}})
		case !ok:
			out = append(out, setting{strings.TrimSpace(at + " " + name), []string{"set"}})
		default:
			out = append(out, setting{strings.TrimSpace(at + " " + name), []string{value}})
		}
	}
	return out
}

// directives reads a unit or another file of systemd's. A command line is one by its flags.
func directives(text []byte) (out []setting) {
	section := ""
	for _, line := range lines(bytes.ReplaceAll(text, []byte("\\\n"), []byte(" "))) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			section = line
		case !ok:
			out = append(out, setting{section, []string{line}})
		default:
			at := section + " " + strings.TrimSpace(name)
			if words := strings.Fields(value); isCommand(words) {
				out = append(out, flags(at, words)...)
				continue
			}
			out = append(out, setting{at, []string{strings.TrimSpace(value)}})
		}
	}
	return out
}

var assignment = regexp.MustCompile(`^([A-Za-z_][\w./-]*)\s*=\s*(.*)$`)

// assignments reads lines of NAME=VALUE, quoted or not; nil if the text has other lines.
func assignments(text []byte) []setting {
	out := []setting{}
	for _, line := range lines(text) {
		if line == "" || line[0] == '#' {
			continue
		}
		m := assignment.FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		value := m[2]
		if n := len(value); n > 1 && value[0] == '\'' && value[n-1] == '\'' {
			value = value[1 : n-1]
		}
		out = append(out, setting{m[1], []string{value}})
	}
	return out
}

// checks compares the hook's checks, NAME|LEVEL|CHECK|REMEDY: level and remedy of those that both sides have.
func (f *fields) checks(old, new []byte) {
	read := func(text []byte) (list []setting, others map[string][2]string) {
		others = map[string][2]string{}
		for _, line := range lines(text) {
			name, rest, _ := strings.Cut(line, "|")
			level, rest, _ := strings.Cut(rest, "|")
			check, remedy, _ := strings.Cut(rest, "|")
			list = append(list, setting{name, []string{check}})
			others[name] = [2]string{level, remedy}
		}
		return list, others
	}
	a, before := read(old)
	b, after := read(new)
	f.settings(a, b)
	for _, s := range b {
		if was, ok := before[s.name]; ok {
			f.value(s.name+" level", was[0], after[s.name][0])
			f.value(s.name+" remedy", was[1], after[s.name][1])
		}
	}
}

// maxRoutes bounds how many routes of a machine are compared one by one.
const maxRoutes = 1 << 14

// routes compares routes to machines: a line stands for as many in a row as its last word says, and another machine's pods make it
// longer. Too many are left to be compared as lines.
func (f *fields) routes(old, new []byte) {
	a, aOK := expanded(old)
	b, bOK := expanded(new)
	if aOK && bOK {
		f.set("", a, b)
	}
}

func expanded(text []byte) (out []string, ok bool) {
	for _, line := range lines(text) {
		words := strings.Fields(line)
		if len(words) != 3 {
			return nil, false
		}
		pods, err := netip.ParsePrefix(words[0])
		via, err2 := netip.ParseAddr(words[1])
		n, err3 := strconv.Atoi(words[2])
		if err != nil || err2 != nil || err3 != nil || n > maxRoutes-len(out) {
			return nil, false
		}
		for range n {
			out = append(out, pods.String()+" via "+via.String())
			pods, via = following(pods), via.Next()
		}
	}
	return out, true
}

// following is the prefix after p, of the same length.
func following(p netip.Prefix) netip.Prefix {
	addr := p.Addr().AsSlice()
	for i, carry := (p.Bits()-1)/8, 1<<(7-(p.Bits()-1)%8); i >= 0 && carry > 0; i-- {
		sum := int(addr[i]) + carry
		addr[i], carry = byte(sum), sum>>8 // #nosec G115 -- what is over eight bits is carried
	}
	next, _ := netip.AddrFromSlice(addr)
	return netip.PrefixFrom(next, p.Bits())
}

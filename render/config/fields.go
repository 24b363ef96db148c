package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"kiln.dev/kiln/render/facts/target"
)

// field is what the types and their struct tags say about one key of cluster.yaml.
type field struct {
	name     string
	number   int      // within its map
	index    []int    // as reflect.Value.FieldByIndex takes it
	required bool     // an absent key is a mistake
	enum     []string // the allowed values; nil if there are more than can be listed
	def      string   // the value of an absent key, as the file would have it
	example  string   // a value, for the message about an absent key
	format   string   // of the strings, a key of formats
	program  string   // whose flags the value, or something in it, holds
	or       string   // the field that may stand in place of this one; one of the two does
	machine  int      // the number within Machine, also where Machine is inline; -1 elsewhere
}

// tables holds allowed values that come from another package or are too long for an enum tag.
var tables = map[string][]string{
	"systems":   target.SystemNames(nil),
	"platforms": target.PlatformNames(nil),
	"programs":  target.ProgramNames(),
	"sources":   target.Sources,
	"warnings":  warnings,
	"bondModes": {
		"active-backup", "802.3ad", "balance-rr", "balance-xor", "broadcast", "balance-tlb",
		"balance-alb",
	},
	"hashPolicies":  {"layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4"},
	"keyAlgorithms": {"ECDSA-P256", "RSA-2048"},
	"tls":           {"VersionTLS12", "VersionTLS13"},
	"serving":       {"self-signed", "request"},
}

type fieldList struct {
	list   []field
	byName map[string]*field
}

// Types that are read in a way of their own.
var (
	machineType  = reflect.TypeFor[Machine]()
	durationType = reflect.TypeFor[Duration]()
	argType      = reflect.TypeFor[Arg]()
	freeMapType  = reflect.TypeFor[map[string]any]()    // fields of another program
	stringsType  = reflect.TypeFor[map[string]string]() // free keys with strings
)

// structs holds the keys of every struct of cluster.yaml and of a lock.
var structs = collectFields(reflect.TypeFor[Lock](),
	collectFields(reflect.TypeFor[Cluster](), map[reflect.Type]*fieldList{}))

// collectFields adds the keys of t, and of every struct within it, to known. The keys of an inline
// struct are keys of the struct around it.
func collectFields(t reflect.Type, known map[reflect.Type]*fieldList) map[reflect.Type]*fieldList {
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		return collectFields(t.Elem(), known)
	case reflect.Struct:
	default:
		return known
	}
	if known[t] != nil {
		return known
	}
	fl := &fieldList{byName: map[string]*field{}}
	known[t] = fl
	for i := range t.NumField() {
		sf := t.Field(i)
		if !sf.IsExported() {
			continue
		}
		collectFields(sf.Type, known)
		if sf.Anonymous {
			for _, f := range known[sf.Type].list {
				f.index = append([]int{i}, f.index...)
				fl.list = append(fl.list, f)
			}
			continue
		}
		f := newField(sf, i)
		if t == machineType {
			f.machine = i
		}
		fl.list = append(fl.list, f)
	}
	for i := range fl.list {
		fl.list[i].number = i
		fl.byName[fl.list[i].name] = &fl.list[i]
	}
	return known
}

func newField(sf reflect.StructField, i int) field {
	name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
	f := field{
		name:     name,
		index:    []int{i},
		required: !strings.Contains(options, "omitempty"),
		def:      sf.Tag.Get("default"),
		example:  sf.Tag.Get("example"),
		format:   sf.Tag.Get("is"),
		program:  sf.Tag.Get("of"),
		or:       sf.Tag.Get("or"),
		machine:  -1,
	}
	if f.format != "" && formats[f.format] == "" {
		panic("config: no format " + f.format) // the tags are ours
	}
	if enum := sf.Tag.Get("enum"); enum != "" {
		f.enum = strings.Split(enum, ",")
	}
	if table := sf.Tag.Get("table"); table != "" {
		f.enum = tables[table]
		if f.enum == nil {
			panic("config: no table " + table) // the tags are ours
		}
	}
	return f
}

// parseDefault returns the value of a default tag. The tags are ours: one that does not fit its
// field is a mistake of the program, which a test over all fields finds.
func parseDefault(text string, t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == durationType:
		span, err := time.ParseDuration(text)
		if err != nil {
			panic("config: default tag: " + err.Error())
		}
		v.SetInt(int64(span))
	case t.Kind() == reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			panic("config: default tag: " + err.Error())
		}
		v.SetInt(int64(n))
	case t.Kind() == reflect.Slice:
		v.Set(reflect.ValueOf(strings.Split(text, ",")))
	default:
		v.SetString(text)
	}
	return v
}

// elem returns the type of the elements of a list, or of a pointer's value; t itself for others.
func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func cutLast(path string) (parent, last string, ok bool) {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		return path[:i], path[i+1:], true
	}
	return "spec", path, path != ""
}

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

func format(name string) *regexp.Regexp { return regexp.MustCompile(formats[name]) }

// Parts of an image reference (https://github.com/distribution/reference, grammar in reference.go).
const (
	imageHost = `(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?`
	imagePath = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
	imageTag  = `:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}`
	imageHash = `@sha256:[0-9a-f]{64}`
)

var (
	imageRepository = format("repo")
	imageReference  = format("image")
	tagAndDigest    = regexp.MustCompile(imageTag + imageHash + `$`)
)

// imageName matches the name of an image as a pod may have it: without a digest, and with or
// without registry and tag.
var imageName = regexp.MustCompile(
	`^(?:` + imageHost + `/)?` + imagePath + `(?:/` + imagePath + `)*(?:` + imageTag + `)?$`)

// IsImageName reports whether a string is the name of an image, without a digest.
func IsImageName(text string) bool { return len(text) <= 512 && imageName.MatchString(text) }

package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// joinedKey matches a key that has its value in it, because the colon or the space behind it is
// missing. A URL is none.
var joinedKey = regexp.MustCompile(`^(\w+)(:| )[^ /]`)

// splitKey returns the field at the beginning of a key that has its value in it, and what is
// missing behind the field. field is "" for other keys.
func splitKey(key string, known *fieldList) (field, missing string) {
	m := joinedKey.FindStringSubmatch(key)
	if m == nil || known.byName[m[1]] == nil {
		return "", ""
	}
	if strings.HasPrefix(key, m[1]+":\u00a0") {
		return m[1], "the space behind the colon is a no-break space (U+00A0)"
	}
	if m[2] == ":" {
		return m[1], "the space behind the colon is missing"
	}
	return m[1], "the colon is missing"
}

// fieldOfValue returns how a struct is written in braces with a value for which only one of its
// fields can be meant, "" if there is no such field: a value that the field lists, or a URL whose
// scheme it is named after. A URL may hold a password, so the field's own example stands there.
func fieldOfValue(value string, known *fieldList) string {
	scheme, _, isURL := strings.Cut(value, "://")
	for i := range known.list {
		f := &known.list[i]
		switch {
		case slices.Contains(f.enum, value):
			return "{" + f.name + ": " + value + "}"
		case isURL && f.name == scheme && f.example != "":
			return "{" + f.name + ": " + f.example + "}"
		}
	}
	return ""
}

// exampleOf returns how a struct is written in braces: its required fields, and a field that names
// a file. It returns "" if the struct has neither.
func exampleOf(known *fieldList) string {
	var fields string
	for i := range known.list {
		f := &known.list[i]
		value := f.example
		if len(f.enum) > 0 {
			value = f.enum[0]
		}
		if f.name == "patchFrom" || f.name == "contentFrom" {
			value = "FILE"
		} else if !f.required {
			continue
		}
		if fields != "" {
			fields += ", "
		}
		fields += fmt.Sprintf("%s: %s", f.name, value)
	}
	if fields == "" {
		return ""
	}
	return "{" + fields + "}"
}

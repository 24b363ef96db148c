package flags

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"time"
)

// wants returns what to write if a value does not fit a type, and "" if it does. The programs parse
// most types with pflag (github.com/spf13/pflag v1.0.9), the others with the package cli/flag of
// k8s.io/component-base. Types of which every string may be a value are not parsed, nor are those
// that one flag alone has.
func wants(kind, value string) string {
	var err error
	want := "a whole number"
	switch kind {
	case "bool":
		_, err = strconv.ParseBool(value)
		want = "true or false"
	case "int", "int64":
		_, err = strconv.ParseInt(value, 0, 64)
	case "int32":
		_, err = strconv.ParseInt(value, 0, 32)
		want = "a whole number below 2147483648"
	case "uint", "uint64":
		_, err = strconv.ParseUint(value, 0, 64)
		want = "a whole number, 0 or more"
	case "uint32":
		_, err = strconv.ParseUint(value, 0, 32)
		want = "a whole number from 0 to 4294967295"
	case "Level":
		_, err = strconv.ParseInt(value, 10, 32)
		want = "a level of messages, from 0 to 10"
	case "float32", "float64":
		_, err = strconv.ParseFloat(value, 64)
		want = "a number such as 0.5"
	case "duration":
		_, err = time.ParseDuration(value)
		want = "a duration such as 30s or 1h30m"
	case "ip":
		if value = strings.TrimSpace(value); value != "" && net.ParseIP(value) == nil {
			err = errMalformed
		}
		want = "an IP address"
	case "int32Slice":
		for part := range strings.SplitSeq(value, ",") {
			if _, e := strconv.ParseInt(part, 0, 32); e != nil {
				err = e
			}
		}
		want = "whole numbers with commas between them"
	case "mapStringString", "mapStringBool", "stringToString":
		if value != "" && !strings.Contains(value, "=") {
			err = errMalformed
		}
		want = "pairs such as key=value, with commas between them"
	}
	if err == nil {
		return ""
	}
	return want
}

var errMalformed = errors.New("malformed")

// wantsRuntimeConfig does what wants does for the flag runtime-config. Method apis checks the
// names.
func wantsRuntimeConfig(value string) string {
	for pair := range strings.SplitSeq(value, ",") {
		api, on, _ := strings.Cut(pair, "=")
		_, err := strconv.ParseBool(strings.TrimSpace(on))
		if pair != "" && strings.TrimSpace(api) == "" || err != nil && strings.TrimSpace(on) != "" {
			return "groups and versions of APIs such as batch/v1=true,api/alpha=false"
		}
	}
	return ""
}

package kinds

import (
	"encoding/base64"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"kiln.dev/kiln/render/text/wording"
)

// scalar returns why a value does not have a type of fields.txt without fields, "" if it has.
func scalar(v any, typ string) string {
	switch typ {
	case "any":
		return ""
	case "bool":
		if _, ok := v.(bool); !ok {
			return "want a boolean, got " + nameOf(v)
		}
	case "string":
		if _, ok := v.(string); !ok {
			return "want a string, got " + nameOf(v)
		}
	case "int32", "int64", "uint32", "uint64", "int", "uint8", "uint":
		return wholeNumber(v, typ)
	case "float32", "float64":
		switch v.(type) {
		case int64, float64:
		default:
			return "want a number, got " + nameOf(v)
		}
	case "quantity":
		return wrongQuantity(v)
	case "int-or-string":
		if _, ok := v.(string); !ok {
			if message := wholeNumber(v, "int32"); message != "" {
				return "want a whole number or a string, got " + nameOf(v)
			}
		}
	case "duration":
		s, ok := v.(string)
		if _, err := time.ParseDuration(s); !ok || err != nil {
			return "want a duration such as 10s or 4h30m, got " + nameOf(v)
		}
	case "time":
		s, ok := v.(string)
		if _, err := time.Parse(time.RFC3339, s); !ok || err != nil {
			return "want a time such as 2030-01-02T15:04:05Z, got " + nameOf(v)
		}
	case "bytes":
		s, ok := v.(string)
		if _, err := base64.StdEncoding.DecodeString(s); !ok || err != nil {
			return "want bytes in base64, got " + nameOf(v)
		}
	default:
		panic("kinds: fields.txt has no type " + typ)
	}
	return ""
}

var sizes = map[string][2]float64{
	"int32": {math.MinInt32, math.MaxInt32}, "int64": {math.MinInt64, math.MaxInt64},
	"int": {math.MinInt64, math.MaxInt64}, "uint8": {0, math.MaxUint8},
	"uint32": {0, math.MaxUint32}, "uint64": {0, math.MaxUint64}, "uint": {0, math.MaxUint64},
}

func wholeNumber(v any, typ string) string {
	n, ok := v.(int64)
	if !ok {
		return "want a whole number, got " + nameOf(v)
	}
	if size := sizes[typ]; float64(n) < size[0] || float64(n) > size[1] {
		return "want a whole number (" + typ + "), got " + strconv.FormatInt(n, 10)
	}
	return ""
}

// spelledSize matches sizes as people write them, whose unit Kubernetes spells in another way.
var spelledSize = regexp.MustCompile(`^([0-9.]+) ?([kKmMgGtTpP])([iI]?)[bB]?$`)

func wrongQuantity(v any) string {
	switch v := v.(type) {
	case int64, float64:
		return ""
	case string:
		if _, err := wording.ParseQuantity(v); err == nil {
			return ""
		}
		if m := spelledSize.FindStringSubmatch(v); m != nil {
			unit := strings.ToUpper(m[2]) + strings.ToLower(m[3])
			if unit == "K" {
				unit = "k"
			}
			return Show(v) + " is not a quantity; write " + m[1] + unit
		}
		return Show(v) + " is not a quantity such as 500m or 2Gi"
	}
	return "want a quantity such as 500m or 2Gi, got " + nameOf(v)
}

// holdsEndless reports whether a value holds a string that cannot be read as a quantity in time.
func holdsEndless(v any) bool {
	switch v := v.(type) {
	case string:
		return !wording.QuantityInBounds(v)
	case []any:
		return slices.ContainsFunc(v, holdsEndless)
	case map[string]any:
		for _, e := range v {
			if holdsEndless(e) {
				return true
			}
		}
	}
	return false
}

// nameOf returns what a value is, with its article. It never quotes the value.
func nameOf(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case bool:
		return "a boolean"
	case int64:
		return "a whole number"
	case float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	return "a string"
}

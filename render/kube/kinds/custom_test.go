package kinds_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/kube/kinds"
)

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, maximum: 9}
              color: {type: string, enum: [red, green], default: red}
              name: {type: string, pattern: "^[a-z]+$", maxLength: 5}
              bytes: {type: integer, enum: [1000000, 9007199254740993], minimum: 1000000}
              ratio: {type: number, enum: [1, 2.5], maximum: 10000000}
              either: {enum: ["1", 2, true, [a, 3]], x-kubernetes-preserve-unknown-fields: true}
              port: {x-kubernetes-int-or-string: true}
              tags: {type: array, minItems: 1, items: {type: string}}
              limits: {type: object, additionalProperties: {type: integer}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              maybe: {type: string, nullable: true}
              huge: {type: string, pattern: "^((a|b){500}|c)*((a|b){500}|d)*$"}
              many: {type: array, items: {type: string, pattern: "^([a-z]{1000}x?)*$"}}
              never: {type: string, pattern: "^((a{1000}){1000}|x)*$"}
  - name: v1beta1
    served: false
`

// TestPatterns: a definition has only regular expressions that the API server can read, wherever
// they stand. One that is too large for kiln is none of its faults.
func TestPatterns(t *testing.T) {
	t.Parallel()
	const text = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          good: {type: string, pattern: "^[a-z]+$"}
          large: {type: string, pattern: "^((a|b){500}|c)*((a|b){500}|d)*$"}
          name: {type: string, pattern: "("}
          pattern: {items: {additionalProperties: {pattern: "a**"}}}
          deep: {anyOf: [{not: {pattern: "[z-a]"}}], pattern: "a{1001}"}
`
	const at = "spec.versions[v1].schema.openAPIV3Schema.properties."
	require.Equal(t, []string{
		at + `deep.anyOf[0].not.pattern: "[z-a]" is not a regular expression: ` +
			"invalid character class range",
		at + `deep.pattern: "a{1001}" is not a regular expression: invalid repeat count`,
		at + `name.pattern: "(" is not a regular expression: missing closing )`,
		at + `pattern.items.additionalProperties.pattern: "a**" is not a regular expression: ` +
			"invalid nested repetition operator",
	}, lines(kinds.New(36).Check([]byte(text))))
}

// TestCustom: a custom resource has the fields, types and values of its definition.
func TestCustom(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n"
	for _, row := range []struct {
		name, text string
		want       []string
	}{
		{name: "good", text: head + "spec: {size: 3, color: green, port: http, tags: [a], " +
			"limits: {a: 1}, free: {x: [y]}, maybe: null}\n"},
		{name: "required", text: head, want: []string{"spec is missing"}},
		{name: "unknown", text: head + "spec: {size: 1, colour: red}\n", want: []string{
			`spec.colour: its definition has no such field; did you mean "color"?`,
		}},
		{name: "metadata", text: "apiVersion: example.com/v1\nkind: Widget\n" +
			"metadata: {name: a, label: {}}\nspec: {size: 1}\n", want: []string{
			`metadata.label: ObjectMeta has no such field; did you mean "labels"?`,
		}},
		{name: "types", text: head + "spec: {size: big, tags: {}, limits: {a: b}, port: 1.5, " +
			"name: null}\n", want: []string{
			"spec.limits.a: want a whole number, got a string",
			"spec.port: want a whole number or a string, got a number",
			"spec.size: want a whole number, got a string",
			"spec.tags: want a list, got a map",
		}},
		{name: "values", text: head + "spec: {size: 10, color: rd, name: ABCDEF, tags: []}\n",
			want: []string{
				`spec.color: "rd" is not one of red, green; did you mean "red"?`,
				`spec.name: "ABCDEF" does not match ^[a-z]+$`,
				"spec.name: has 6 characters, more than 5",
				"spec.size: 10 is above 9",
				"spec.tags: has 0 elements, fewer than 1",
			}},
		{name: "numbers", text: head + "spec: {size: 1, bytes: 1000000, ratio: 1.0, either: 2}\n"},
		{name: "large number", text: head +
			"spec: {size: 1, bytes: 9007199254740993, ratio: 2.5, either: [a, 3]}\n"},
		{name: "wrong numbers", text: head +
			"spec: {size: 1, bytes: 9007199254740992, ratio: 20000000, either: \"2\"}\n",
			want: []string{
				"spec.bytes: want one of 1000000, 9007199254740993",
				"spec.either: want one of 1, 2, true, [\"a\",3]",
				"spec.ratio: 20000000 is above 10000000",
				"spec.ratio: want one of 1, 2.5",
			}},
		{name: "low number", text: head + "spec: {size: 1, bytes: 3}\n", want: []string{
			"spec.bytes: 3 is below 1000000", "spec.bytes: want one of 1000000, 9007199254740993",
		}},
		{name: "large expressions", text: head + "spec: {size: 1, huge: x, never: z, many: [" +
			strings.Repeat(strings.Repeat("a", 1000)+", ", 200) + "a]}\n", want: []string{
			`spec.huge: "x" does not match ^((a|b){500}|c)*((a|b){500}|d)*$`,
			"spec.many[49]: takes too long to compare with the regular expressions of its " +
				"definition; shorten the value, or simplify the expression",
		}},
		{name: "version", text: "apiVersion: example.com/v1beta1\nkind: Widget\n", want: []string{
			`apiVersion: the definition of Widget does not serve "v1beta1"; write v1`,
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := kinds.New(36, []byte(widgets))
			require.ElementsMatch(t, row.want, lines(c.Check([]byte(row.text))))
		})
	}
}

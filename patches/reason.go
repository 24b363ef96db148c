package patches

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"kiln.dev/kiln/render/text/yamltext"
)

type said struct {
	pattern *regexp.Regexp
	instead string
}

// sayings are the messages of kustomize that people meet most (api v0.21.2).
var sayings = []said{
	{ // it tries each file as a folder, too
		regexp.MustCompile(`(?s)^accumulating resources: accumulation err='` +
			`(?:accumulating resources|merging resources) from '([^']+)': (.*)': ` +
			`must build at directory: .*`),
		"$1: $2",
	},
	{
		regexp.MustCompile(`may not add resource with an already registered id: ` +
			`([^. ]+)\.[^ ]*/([^ ]+)\.([^ .]+)$`),
		"$1 $2 stands there twice (namespace $3); remove one",
	},
	{
		regexp.MustCompile(`(?s)^no resource matches strategic merge patch ` +
			`"([^.]+)\.[^"]*/([^"]+)\.([^."]+)".*`),
		"a patch changes $1 $2 (namespace $3), and there is no such object; " +
			"correct its name or its namespace",
	},
	{
		regexp.MustCompile("fieldPath `([^`]*)` is missing for replacement source " +
			`([^. ]+)\.[^ ]*/([^ ]+)\.([^ .']+)`),
		"$2 $3 (namespace $4) has no field $1, which a replacement copies; correct its fieldPath",
	},
	{
		regexp.MustCompile(`(?s)^trouble configuring builtin PatchTransformer .*`),
		"a patch is neither a strategic merge nor a list of JSON6902 operations; " +
			"operations in YAML begin with - and not with [",
	},
	{
		regexp.MustCompile(`(?s)^wrong node kind: .*`),
		"a list or a map stands where the patch or the object needs something else; " +
			"compare the lists of both",
	},
	{
		regexp.MustCompile(`operation does not apply: doc is missing path: ([^/: ][^: ]*): .*`),
		`operation does not apply: the path "$1" does not begin with /; write one there, and ` +
			`between its keys`,
	},
	{
		regexp.MustCompile(`(?s)^kustomize: runtime error: .*`),
		"kustomize breaks off; a list or a map stands where something else belongs",
	},
}

// reason returns the message of an error of kustomize, in the words of kiln if it is one that
// people meet often, and without the values that parsers of YAML quote.
func reason(err error) string {
	text := err.Error()
	for _, s := range sayings {
		text = s.pattern.ReplaceAllString(text, s.instead)
	}
	text = strings.ReplaceAll(text, "namespace [noNs]", "no namespace")
	return yamltext.Message(errors.New(text))
}

// blame returns why kustomize fails: files that are not YAML, or that it cannot read alone, or else
// what it says.
func (r *reader) blame(failure error) error {
	for _, name := range r.resources {
		if notYAML(r.files[name]) == nil {
			continue
		}
		f, ok := yamltext.Template(r.files[name])
		if !ok {
			f, ok = yamltext.FindFault(r.files[name], nil)
		}
		if !ok {
			f = yamltext.Fault{Line: 1, Column: 1, Message: "the file is not valid YAML"}
		}
		r.found = append(r.found, fmt.Errorf("%s:%d:%d: %s", name, f.Line, f.Column, f.Message))
	}
	if len(r.found) > 0 {
		return r.err()
	}
	for _, name := range r.resources {
		k := types.Kustomization{}
		if _, err := run(filesys.MakeFsInMemory(), &k, r.files[name]); err != nil {
			r.problem(name, "", "%s", r.conceal(err))
		}
	}
	if len(r.found) > 0 {
		return r.err()
	}
	return fmt.Errorf("build %s: %s", r.root, r.conceal(failure))
}

func notYAML(stream []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(stream))
	var err error
	for err == nil {
		err = decoder.Decode(new(yaml.Node))
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (r *reader) addResource(name string) {
	if !slices.Contains(r.resources, name) {
		r.resources = append(r.resources, name)
	}
}

package ignition

import (
	"errors"
	"fmt"
	"io"
	"strings"

	butane "github.com/coreos/ignition/v2/butane/config"
	"github.com/coreos/ignition/v2/butane/config/common"
	ignerrors "github.com/coreos/ignition/v2/config/shared/errors"
	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/facts/node"
)

// Translate returns the parts of a machine that snippet, a Butane config, describes. Files with
// their content in the snippet, directories, links, and units (with their drop-ins, as files of
// mode 0644) become parts of the node, in order; a file replaces a file of the image at its path.
// Everything else (disks, users, remote files, appended content, units to be disabled, …) is
// Ignition JSON in Extra.
//
// snippet may be of any variant and version that Butane translates to Ignition 3.4.0 or older:
// flatcar up to 1.1.0, fcos up to 1.5.0. It cannot include local files. Translate fails if Butane
// finds anything, even a warning, if there is a second YAML document, which Butane would ignore,
// and if the snippet replaces the machine's config. The error joins one error for each finding,
// which begins with the line and column in snippet if Butane knows them.
func Translate(snippet string) (node.Node, error) {
	top, err := onlyDocument(snippet)
	if err != nil {
		return node.Node{}, err
	}
	// Only the whole document is compressed; Raw leaves out the wrapper of the openshift variant.
	doc, r, err := butane.TranslateBytes([]byte(snippet), common.TranslateBytesOptions{
		TranslateOptions: common.TranslateOptions{NoResourceAutoCompression: true},
		Raw:              true,
	})
	var all []error
	for _, e := range r.Entries {
		at := strings.TrimPrefix(e.Context.String(), "$.")
		if line, column := e.Marker.Start(); line > 0 {
			at = fmt.Sprintf("line %d, column %d: %s", line, column, at)
		}
		all = append(all, fmt.Errorf("%s: %s", at, e.Message))
	}
	if len(all) > 0 {
		return node.Node{}, errors.Join(all...)
	}
	if err != nil {
		return node.Node{}, err
	}
	cfg, err := parse(doc)
	if errors.Is(err, ignerrors.ErrUnknownVersion) {
		line, column := position(top, "version")
		return node.Node{}, fmt.Errorf("line %d, column %d: version: it asks for an Ignition "+
			"newer than 3.4.0, which not every machine has; use flatcar 1.1.0 or fcos 1.5.0", line,
			column)
	}
	if err == nil && cfg.Ignition.Config.Replace.Source != nil {
		err = errReplace
	}
	var n node.Node
	if err == nil {
		err = take(&cfg, &n, urlContent)
	}
	if err != nil {
		return node.Node{}, err
	}
	n.Sort()
	return n, nil
}

// onlyDocument returns the only YAML document of snippet.
func onlyDocument(snippet string) (*yaml.Node, error) {
	d := yaml.NewDecoder(strings.NewReader(snippet))
	var first, second yaml.Node
	if err := d.Decode(&first); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the snippet is empty")
		}
		return nil, err
	}
	switch err := d.Decode(&second); {
	case errors.Is(err, io.EOF):
		return &first, nil
	case err != nil:
		return nil, err
	}
	return nil, fmt.Errorf("line %d, column %d: a second YAML document; write two snippets",
		second.Line, second.Column)
}

// position returns the line and column of the value of a top-level key, or of the document if there
// is no such key.
func position(doc *yaml.Node, key string) (line, column int) {
	for _, top := range doc.Content {
		for i := 0; i+1 < len(top.Content); i += 2 {
			if top.Content[i].Value == key {
				return top.Content[i+1].Line, top.Content[i+1].Column
			}
		}
	}
	return doc.Line, doc.Column
}

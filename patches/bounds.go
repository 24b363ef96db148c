package patches

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// maxCopied is how many bytes all "copy" operations of one JSON6902 patch may add. Each of them may
// double the object.
const maxCopied = 4 << 20

func init() { jsonpatch.AccumulatedCopySizeLimit = maxCopied }

// checkAliases fails if the aliases in a YAML file lead in a circle, or expand to far more than the
// file: kustomize follows them without a limit. It fails on YAML that cannot be parsed too.
func checkAliases(text []byte) error {
	if !bytes.ContainsRune(text, '*') {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var whole any
		err := decoder.Decode(&whole)
		var mistyped *yaml.TypeError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &mistyped):
		case err != nil:
			return fmt.Errorf("not YAML: %w", err)
		}
	}
}

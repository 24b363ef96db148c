package patches

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// maxCopied bounds what the operations "copy" of one JSON6902 patch add up to, in bytes. Each may double the
// object.
const maxCopied = 4 << 20

func init() { jsonpatch.AccumulatedCopySizeLimit = maxCopied }

// bounded fails if aliases in a text of YAML lead in a circle, or to far more than the text: kustomize
// follows them without a bound. A text that is no YAML is somebody else's to refuse.
func bounded(text []byte) error {
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

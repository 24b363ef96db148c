package render

import (
	"bytes"
	"fmt"

	"kiln/render/cloudinit"
	"kiln/render/ignition"
	"kiln/render/node"
)

// Unpack reads a boot document, Ignition or cloud-init, packed or plain, and returns what it puts on its machine.
func Unpack(path string) (*node.Node, error) {
	data, err := regular(path)
	if err != nil {
		return nil, err
	}
	unpack := cloudinit.Unpack
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		unpack = ignition.Unpack
	}
	n, err := unpack(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &n, nil
}

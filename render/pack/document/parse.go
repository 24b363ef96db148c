package document

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/cloudinit"
	"kiln.dev/kiln/render/pack/compress"
	"kiln.dev/kiln/render/pack/ignition"
	"kiln.dev/kiln/render/text/wording"
)

// maxLayers is how many times a document may be packed: gzip, in base64, in a cloud's JSON, and one
// more.
const maxLayers = 4

// Parser reads the documents of a cluster, and does once what they have in common. The zero value
// is ready. Its methods may be called from several goroutines. The nodes share contents: nobody may
// change them.
type Parser struct{ ignition ignition.Unpacker }

// Parse reads a boot document in any form in which it is delivered or shown: Ignition or
// cloud-init, plain, compressed, in base64, or in the JSON that a cloud's command line prints. It
// fails on anything else, on a document that is damaged or cut off, and if any layer is larger than
// 64 MiB. No error quotes a value that may be a secret.
func (p *Parser) Parse(doc []byte) (*node.Node, error) {
	if len(doc) > compress.MaxDocument {
		return nil, fmt.Errorf("larger than %d MiB: this is no boot document",
			compress.MaxDocument>>20)
	}
	for range maxLayers + 1 {
		inner, packed, err := unwrap(doc)
		switch {
		case err != nil:
			return nil, err
		case packed:
			doc = inner // no larger than doc, or than the limit of Gunzip
			continue
		}
		n, err := p.Decode(doc)
		if err != nil {
			return nil, errors.New(wording.Visible(err.Error(), "\n"))
		}
		if len(n.Files) == 0 && n.Remote == nil && len(n.Extra) == 0 {
			return nil, errors.New("makes no file on a machine: this is no document of kiln's, " +
				"or it is cut off")
		}
		return n, nil
	}
	return nil, fmt.Errorf("packed more than %d times: this is no boot document", maxLayers)
}

// Decode reads a boot document that is not packed: Ignition, a user-data, or a body of cloud-init.
// It fails on anything else.
func (p *Parser) Decode(doc []byte) (*node.Node, error) {
	var n node.Node
	var err error
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(doc), []byte("{")):
		n, err = p.ignition.Unpack(doc)
	case bytes.HasPrefix(doc, []byte("#cloud-config")), cloudinit.IsMessage(doc):
		n, err = cloudinit.Unpack(doc)
	case cloudinit.IsBody(doc):
		n, err = cloudinit.UnpackBody(doc)
	default:
		err = errors.New("neither Ignition (JSON) nor cloud-init (#cloud-config), " +
			"nor either of them compressed or in base64; " +
			"name a config.ign, a user-data, a body, or a machine's folder")
	}
	return &n, err
}

// unwrap removes one layer of packing from a document. packed reports whether it had one. It fails
// if the layer is damaged or cut off.
func unwrap(doc []byte) (inner []byte, packed bool, err error) {
	text := bytes.TrimSpace(doc)
	switch {
	case bytes.HasPrefix(doc, []byte{0x1f, 0x8b}):
		inner, err = compress.Gunzip(doc)
		return inner, true, err
	case bytes.HasPrefix(text, []byte(`"`)):
		var value string
		if json.Unmarshal(text, &value) != nil {
			return nil, false, errors.New("begins like a JSON string and is not one: " +
				"it is damaged or cut off")
		}
		return []byte(value), true, nil
	case bytes.HasPrefix(text, []byte("{")) && bytes.Contains(text, []byte(`"UserData"`)):
		// This is the answer of aws ec2 describe-instance-attribute --attribute userData. It cannot
		// be an Ignition config: that has no such field, and escapes the quotes in the contents of
		// files.
		var answer struct{ UserData struct{ Value string } }
		if json.Unmarshal(text, &answer) != nil || answer.UserData.Value == "" {
			return nil, false, errors.New("JSON with a field UserData that holds no document; " +
				"ask for it with: aws ec2 describe-instance-attribute --attribute userData")
		}
		return []byte(answer.UserData.Value), true, nil
	case len(text) > 0 && !slices.ContainsFunc(text, isNotBase64):
		inner, err = base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			err = errors.New("base64 that is damaged or cut off")
		}
		return inner, true, err
	}
	return nil, false, nil
}

// isNotBase64 reports whether a byte cannot be part of base64, which may be broken into lines.
func isNotBase64(b byte) bool {
	isLetter := b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
	isDigit := b >= '0' && b <= '9'
	return !isLetter && !isDigit && strings.IndexByte("+/=\r\n", b) < 0
}

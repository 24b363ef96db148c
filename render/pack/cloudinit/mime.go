package cloudinit

import (
	"bytes"
	"encoding/base64"
	"errors"
)

// The fixed beginning and end of a MIME message, around its one part. cloud-init decompresses a
// part of this type (cloudinit/user_data.py, DECOMP_TYPES; the same from 22.4 to 26.2).
const (
	messageHead = "Content-Type: multipart/mixed; boundary=\"kiln\"\nMIME-Version: 1.0\n\n" +
		"--kiln\nContent-Type: application/gzip\nContent-Transfer-Encoding: base64\n\n"
	messageTail = "\n--kiln--\n"
)

// message returns a compressed document as a MIME message. Its base64 is one line: line breaks
// would cost bytes, and no mail server needs them.
func message(zipped []byte) []byte {
	return append(base64.StdEncoding.AppendEncode([]byte(messageHead), zipped), messageTail...)
}

// IsMessage reports whether a document is a MIME message, made by kiln or by others.
func IsMessage(doc []byte) bool { return mentionsMIME(doc[:min(len(doc), mimeWindow)]) }

// unmessage is the inverse of message.
func unmessage(doc []byte) ([]byte, error) {
	body, ok := bytes.CutPrefix(doc, []byte(messageHead))
	if body, whole := bytes.CutSuffix(body, []byte(messageTail)); ok && whole {
		zipped, err := base64.StdEncoding.DecodeString(string(body))
		if err == nil {
			return zipped, nil
		}
	} else if !ok {
		return nil, errors.New("a MIME message that kiln did not make; " +
			"give its part text/cloud-config")
	}
	return nil, errors.New("a MIME message that is damaged or cut off")
}

package certs

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"net"
	"slices"
	"time"

	"kiln.dev/kiln/render/text/credential"
	"kiln.dev/kiln/render/text/wording"
)

// found is a certificate in a content, or a block that should be one.
type found struct {
	cert *x509.Certificate // nil if the block cannot be read
	sum  [sha256.Size]byte // of what the block holds
	in   []string
	// unread reports whether this is no block: the content unpacks to more than is read.
	unread bool
}

var (
	begins = [][]byte{
		[]byte("-----BEGIN CERTIFICATE-----"), []byte("-----BEGIN X509 CERTIFICATE-----"),
		[]byte("-----BEGIN TRUSTED CERTIFICATE-----"),
	}
	dashes = []byte("-----")
)

// leastBlock is the number of characters of base64 from which a block is taken for a certificate.
// Programs and comments name the first line alone.
const leastBlock = 40

// find returns every certificate of a content, each once, however it is packed: in PEM, with
// indents or escaped line breaks, or in DER; itself in base64, hex, gzip, a data URL or UTF-16. If
// the content unpacks to too much, the last one says so.
func find(content []byte) (list []found) {
	seen := map[[sha256.Size]byte]bool{}
	add := func(der []byte, in []string, certain bool) {
		f := found{sum: sha256.Sum256(der), in: in}
		if seen[f.sum] {
			return
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil && !certain {
			return
		}
		seen[f.sum] = true
		if err == nil {
			f.cert = cert
		}
		list = append(list, f)
	}
	for layer := range credential.Layers(content) {
		if layer.Unread {
			list = append(list, found{sum: sha256.Sum256(content), unread: true})
			break
		}
		for _, begin := range begins {
			for rest := layer.Content; ; {
				i := bytes.Index(rest, begin)
				if i < 0 {
					break
				}
				rest = rest[i+len(begin):]
				if body := decode(rest); body != nil {
					add(firstValue(body), layer.Packing, true)
				}
			}
		}
		if der := firstValue(layer.Content); len(der) > leastBlock && der[0] == 0x30 {
			add(der, layer.Packing, false)
		}
	}
	return list
}

// decode returns what the PEM block that begins here holds. Spaces, quotes and escaped line breaks
// do not count. It returns nil if this is no block, and what can be read of a block that is cut
// off.
func decode(text []byte) []byte {
	if i := bytes.Index(text, dashes); i >= 0 {
		text = text[:i]
	}
	var run []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && (text[i+1] == 'n' || text[i+1] == 'r'):
			i++
		case c == '\\' && bytes.HasPrefix(text[i+1:], []byte("u000")) && i+5 < len(text):
			i += 5 // \u000a
		case c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\\' || c == '"' ||
			c == '\'' || c == ',' || c == '|' || c == '#' || c == '=':
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '+', c == '/':
			run = append(run, c)
		default:
			i = len(text)
		}
	}
	if len(run) < leastBlock {
		return nil
	}
	if len(run)%4 == 1 {
		run = run[:len(run)-1]
	}
	der, _ := base64.RawStdEncoding.DecodeString(string(run))
	return der
}

// firstValue returns the first ASN.1 value of a content without what follows it, or all of the
// content if it is no such value.
func firstValue(der []byte) []byte {
	if len(der) < 4 || der[0] != 0x30 {
		return der
	}
	head, length := 2, int(der[1])
	if der[1] >= 0x80 {
		bytes := int(der[1] & 0x7f)
		if bytes < 1 || bytes > 3 || len(der) < 2+bytes {
			return der
		}
		head, length = 2+bytes, 0
		for _, b := range der[2 : 2+bytes] {
			length = length<<8 | int(b)
		}
	}
	if head+length > len(der) {
		return der
	}
	return der[:head+length]
}

// entry returns the entry of a certificate, without its place and renewal.
func (f *found) entry() Entry {
	e := Entry{Kind: Certificate, In: slices.Clone(f.in), SHA256: hex.EncodeToString(f.sum[:])}
	switch {
	case f.unread:
		e.SHA256, e.Fault = "", "packed data that is too large to search for certificates"
		return e
	case f.cert == nil:
		e.Fault = "not an X.509 certificate, or cut off"
		return e
	}
	c := f.cert
	e.Subject, e.Issuer = visible(c.Subject.String()), visible(c.Issuer.String())
	e.CA = c.IsCA
	for _, name := range c.DNSNames {
		e.SANs = append(e.SANs, visible(name))
	}
	for _, ip := range c.IPAddresses {
		e.SANs = append(e.SANs, net.IP(ip).String())
	}
	for _, name := range c.EmailAddresses {
		e.SANs = append(e.SANs, visible(name))
	}
	for _, name := range c.URIs {
		e.SANs = append(e.SANs, visible(name.String()))
	}
	e.Begins, e.Ends = moment(c.NotBefore), moment(c.NotAfter)
	return e
}

// moment returns a time as entries have it.
func moment(t time.Time) *time.Time {
	utc := t.UTC().Truncate(time.Second)
	return &utc
}

func visible(text string) string { return wording.Visible(text, "") }

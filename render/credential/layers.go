package credential

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"io"
	"iter"
	"slices"
)

// Limits of unpacking. They bound time and memory: what is packed deeper, or in more bytes, is not
// found.
const (
	// maxDepth is enough for a key in PEM, in a kubeconfig, compressed, in base64, as a value of a
	// Secret.
	maxDepth    = 6
	maxUnpacked = 16 << 20 // of all layers of one content together
	// shortest is how long the shortest credential is that is looked for in what was unpacked: the
	// secret half of a bootstrap token. What comes out of shorter words is noise.
	shortest = 16
	// shortestURL is the length of a://b:c@d, which a content may be as it stands.
	shortestURL = 9
	// minRun is how long it is in base64.
	minRun = 22
)

// Layer is a content, or what came out of unpacking it.
type Layer struct {
	Content []byte
	Packing []string // from the outside; none for the content itself
}

// Layers returns a content and everything that can be unpacked from it, each before what it holds.
func Layers(content []byte) iter.Seq[Layer] {
	return func(yield func(Layer) bool) {
		w := walk{yield: yield, left: maxUnpacked}
		w.visit(Layer{Content: content})
	}
}

// walk is one walk through the layers of a content.
type walk struct {
	yield func(Layer) bool
	left  int // how many bytes may still be unpacked
}

// visit yields a layer and those below it. It reports whether the walk goes on.
func (w *walk) visit(l Layer) bool {
	if !w.yield(l) {
		return false
	}
	if len(l.Packing) == maxDepth {
		return true
	}
	if bytes.HasPrefix(l.Content, []byte{0x1f, 0x8b, 8}) {
		return w.below(l, "gzip", gunzip(l.Content, w.left))
	}
	for url := range dataURLs(l.Content) {
		if !w.below(l, "a data URL", url) {
			return false
		}
	}
	for run := range runs(l.Content) {
		if !w.below(l, "base64", fromBase64(run)) {
			return false
		}
		for content := range fromHex(run) {
			if !w.below(l, "hex", content) {
				return false
			}
		}
	}
	return true
}

// below visits what was unpacked from a layer, within the budget. It reports whether the walk goes
// on.
func (w *walk) below(l Layer, packing string, content []byte) bool {
	if w.left -= len(content); len(content) == 0 || w.left < 0 {
		return true
	}
	return w.visit(Layer{content, append(slices.Clip(l.Packing), packing)})
}

// gunzip returns at most limit bytes. What is damaged or cut off comes as far as it goes.
func gunzip(content []byte, limit int) []byte {
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(io.LimitReader(r, int64(max(limit, 0)))) // an error is the end of what can be read
	return out
}

// dataURLs returns the data URLs of a text in which characters are escaped (RFC 3986, section 2.1),
// without the escapes.
func dataURLs(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for {
			i := bytes.Index(text, []byte("data:"))
			if i < 0 {
				return
			}
			text = text[i+len("data:"):]
			url := text
			if end := bytes.IndexAny(text, " \t\r\n\"`<>"); end >= 0 {
				url = text[:end]
			}
			if bytes.IndexByte(url, '%') >= 0 && !yield(unescape(url)) {
				return
			}
			text = text[len(url):]
		}
	}
}

// unescape replaces the escapes of a URL by what they stand for.
func unescape(url []byte) []byte {
	out := make([]byte, 0, len(url))
	for i := 0; i < len(url); i++ {
		if url[i] == '%' && i+2 < len(url) {
			if c, err := hex.DecodeString(string(url[i+1 : i+3])); err == nil {
				out = append(out, c...)
				i += 2
				continue
			}
		}
		out = append(out, url[i])
	}
	return out
}

// encoded are the characters of base64, of both its alphabets, without the padding.
var encoded = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_") {
		set[c] = true
	}
	return set
}()

// runs returns the stretches of a text that may be base64 or hex. It joins consecutive lines. It
// also returns lines alone, and the stretch without its first line, because joining may be wrong.
func runs(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		emit := func(run []byte) bool {
			if len(run) < minRun {
				return true
			}
			for behind := range behindPath(run) {
				if !yield(behind) {
					return false
				}
			}
			return yield(run)
		}
		for i := 0; i < len(text); {
			if !encoded[text[i]] {
				i++
				continue
			}
			line := runAt(text[i:])
			if i += len(line); len(line) == 0 {
				for i < len(text) && text[i] == '-' { // a line around PEM
					i++
				}
				continue
			}
			gap, next := continuation(text[i:])
			if len(next) == 0 {
				if !emit(line) {
					return
				}
				continue
			}
			joined, first, second, uneven := slices.Clone(line), len(line), len(next), false
			for len(next) > 0 {
				if uneven = uneven || len(line)%4 != 0; uneven && !emit(line) {
					return
				}
				line = next
				joined = append(joined, line...)
				i += gap + len(line)
				gap, next = continuation(text[i:])
			}
			if uneven && !emit(line) || !emit(joined) {
				return
			}
			if first != second && !emit(joined[first:]) { // lines of one length belong together
				return
			}
		}
	}
}

// behindPath returns what stands behind the first slashes of a long run: it may be the last part of
// a URL.
func behindPath(run []byte) iter.Seq[[]byte] {
	const long, parts, near = 40, 3, 64
	return func(yield func([]byte) bool) {
		at := 0
		for range parts {
			slash := bytes.IndexByte(run[at:], '/')
			if at += slash + 1; slash < 0 || at > near || len(run)-at < long || !yield(run[at:]) {
				return
			}
		}
	}
}

// runAt returns the characters of base64 at the beginning of a text. The dashes around PEM are
// none.
func runAt(text []byte) []byte {
	end := 0
	for end < len(text) && encoded[text[end]] && (text[end] != '-' || !bytes.HasPrefix(text[end:], []byte("-----"))) {
		end++
	}
	return text[:end]
}

// continuation returns what follows on the next line of the same stretch, and how many bytes are
// before it. A line ends as in a file, or as in a string of JSON, YAML or a shell.
func continuation(text []byte) (gap int, next []byte) {
	ended := false
	for gap < len(text) {
		switch c := text[gap]; {
		case c == '\n':
			ended = true
			gap++
		case c == ' ' || c == '\t' || c == '\r':
			gap++
		case c == '\\' && gap+1 < len(text) && (text[gap+1] == 'n' || text[gap+1] == 'r'):
			ended = true
			gap += 2
		case c == '\\' && gap+1 < len(text) && text[gap+1] == '\n':
			gap++
		case !ended:
			return 0, nil
		default:
			return gap, runAt(text[gap:])
		}
	}
	return 0, nil
}

// fromBase64 decodes a run in either alphabet. What follows it on the next line may be a word with
// characters of the other one.
func fromBase64(run []byte) []byte {
	if len(run)%4 == 1 {
		run = run[:len(run)-1]
	}
	if bytes.ContainsAny(run, "-_") {
		run = bytes.ReplaceAll(bytes.ReplaceAll(run, []byte("-"), []byte("+")), []byte("_"), []byte("/"))
	}
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(run)))
	n, err := base64.RawStdEncoding.Decode(out, run)
	if err != nil {
		return nil
	}
	return out[:n]
}

// fromHex decodes the hexadecimal digits in a run: what stands before and after them may be a word.
func fromHex(run []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		begin := 0
		for end := 0; end <= len(run); end++ {
			if end < len(run) && hexDigit(run[end]) {
				continue
			}
			if digits := run[begin:end]; len(digits) >= 2*shortest {
				out := make([]byte, len(digits)/2)
				n, _ := hex.Decode(out, digits[:len(digits)/2*2])
				if !yield(out[:n]) {
					return
				}
			}
			begin = end + 1
		}
	}
}

func hexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

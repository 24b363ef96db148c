package credential

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"io"
	"iter"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxDepth is enough for a key in PEM, in a kubeconfig, compressed, in base64, as a value of a
	// Secret. A credential that is packed deeper is not found.
	maxDepth = 6
	// shortest is the length of the shortest credential that is looked for in unpacked layers: the
	// secret half of a bootstrap token. Shorter words unpack to noise.
	shortest = 16
	// shortestURL is the length of a://b:c@d, which may be a whole content.
	shortestURL = 9
	// minRun is the length of shortest in base64.
	minRun = 22
)

// budget returns the most bytes that a content of a length may unpack to, all layers together. It
// grows with the length: 165 bytes can stand for 16 MiB, and a configuration may have thousands of
// such contents. So all contents of a run together cost in proportion to their bytes, and what one
// of them holds does not depend on the others. Text that people compress shrinks to a tenth.
func budget(length int) int {
	const factor, least, most = 32, 4 << 10, 16 << 20
	return max(min(factor*length+least, most), 2*length)
}

// Layer is a content, or what it unpacks to.
type Layer struct {
	Content []byte
	Packing []string // outermost first; none for the content itself
	// Unread reports whether the content unpacks to more than is read. Such a layer comes last, and
	// has no content.
	Unread bool
}

// Layers returns a content and all that can be unpacked from it, outer layers first.
func Layers(content []byte) iter.Seq[Layer] {
	return func(yield func(Layer) bool) {
		w := walk{yield: yield, left: budget(len(content))}
		if w.visit(Layer{Content: content}) && w.left < 0 {
			yield(Layer{Unread: true})
		}
	}
}

type walk struct {
	yield func(Layer) bool
	left  int // bytes that may still be unpacked; negative if something was not read
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
		content := gunzip(l.Content, max(w.left, 0)+1)
		if len(content) <= w.left {
			return w.below(l, "gzip", content)
		}
		left := w.left
		w.left = -1 // this and all that follows is not read, but the beginning is
		return left <= 0 || w.yield(Layer{Content: content[:left], Packing: addPacking(l, "gzip")})
	}
	if !w.below(l, "UTF-16", fromUTF16(l.Content)) {
		return false
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

// below visits a layer that was unpacked, within the budget, and reports whether to go on.
func (w *walk) below(l Layer, packing string, content []byte) bool {
	if len(content) == 0 {
		return true
	}
	if w.left -= len(content); w.left < 0 {
		w.left = -1
		return true
	}
	return w.visit(Layer{Content: content, Packing: addPacking(l, packing)})
}

func addPacking(l Layer, packing string) []string { return append(slices.Clip(l.Packing), packing) }

// gunzip returns at most limit bytes. Of damaged data it returns the beginning that can be read.
func gunzip(content []byte, limit int) []byte {
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil
	}
	// an error is the end of what can be read
	out, _ := io.ReadAll(io.LimitReader(r, int64(limit)))
	return out
}

// dataURLs returns the data URLs with escapes in a text (RFC 3986, 2.1), without these.
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

// encoded holds the characters of both alphabets of base64, without the padding.
var encoded = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_") {
		set[c] = true
	}
	return set
}()

// endsLine holds the characters with which the gap between two lines may begin.
var endsLine = [256]bool{'\n': true, '\r': true, ' ': true, '\t': true, '\\': true}

// runs returns the parts of a text that may be base64 or hex. It joins consecutive lines. It also
// returns lines alone, and the joined lines without the first one, because joining may be wrong.
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
		var lines gap
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
			if len(line) < minRun && i < len(text) && !endsLine[text[i]] {
				continue // a word of a text
			}
			next, at := lines.continuation(text, i)
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
				i = at + len(line)
				next, at = lines.continuation(text, i)
			}
			if uneven && !emit(line) || !emit(joined) {
				return
			}
			// lines of the same length belong together
			if first != second && !emit(joined[first:]) {
				return
			}
		}
	}
}

// behindPath returns the parts of a long run after its first slashes, the end of a URL maybe.
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

// runAt returns the characters of base64 at the beginning of a text, without the dashes around PEM.
func runAt(text []byte) []byte {
	end := 0
	for end < len(text) && encoded[text[end]] &&
		(text[end] != '-' || !bytes.HasPrefix(text[end:], []byte("-----"))) {
		end++
	}
	return text[:end]
}

// gap is the part of a text between two runs that was read last. Its escapes look like short runs,
// and reading it again behind each of them would be quadratic.
type gap struct {
	end  int // where the gap ends
	line int // where a line ended in it for the last time; -1 if it is on one line
}

// continuation returns the characters on the next line that continue a run, and where they are. at
// is the end of the run. A line ends as in a file, or as in a string of JSON, YAML or a shell.
func (g *gap) continuation(text []byte, at int) (next []byte, begin int) {
	if at >= g.end {
		g.read(text, at)
	}
	if g.line < at || g.end == len(text) {
		return nil, 0
	}
	return runAt(text[g.end:]), g.end
}

// read reads the gap that begins at an offset.
func (g *gap) read(text []byte, at int) {
	for g.end, g.line = at, -1; g.end < len(text); g.end++ {
		switch c := text[g.end]; {
		case c == '\n':
			g.line = g.end
		case c == ' ' || c == '\t' || c == '\r':
		case c == '\\' && g.end+1 < len(text) && (text[g.end+1] == 'n' || text[g.end+1] == 'r'):
			g.line = g.end
			g.end++
		case c == '\\' && g.end+1 < len(text) && text[g.end+1] == '\n':
		default:
			return
		}
	}
}

// fromBase64 decodes a run in either alphabet. A word of the other one may begin its next line.
func fromBase64(run []byte) []byte {
	if len(run)%4 == 1 {
		run = run[:len(run)-1]
	}
	if bytes.ContainsAny(run, "-_") {
		run = bytes.ReplaceAll(bytes.ReplaceAll(run, []byte("-"), []byte("+")), []byte("_"),
			[]byte("/"))
	}
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(run)))
	n, err := base64.RawStdEncoding.Decode(out, run)
	if err != nil {
		return nil
	}
	return out[:n]
}

// fromHex decodes the hexadecimal digits in a run. There may be a word before and after them.
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

// fromUTF16 returns a text in UTF-16 as UTF-8, or nothing if the content does not begin like one:
// with the mark of the byte order, or with characters of ASCII.
func fromUTF16(content []byte) []byte {
	const (
		sample = 4 // characters
		mark   = 0xfeff
	)
	if len(content) < 2*sample {
		return nil
	}
	var order binary.ByteOrder
	for _, o := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		ascii := true
		for i := range sample {
			c := o.Uint16(content[2*i:])
			ascii = ascii && c > 0 && c < utf8.RuneSelf
		}
		if ascii || o.Uint16(content) == mark {
			order = o
		}
	}
	if order == nil {
		return nil
	}
	if order.Uint16(content) == mark {
		content = content[2:]
	}
	units := make([]uint16, len(content)/2)
	for i := range units {
		units[i] = order.Uint16(content[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

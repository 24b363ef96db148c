// This file reads the JSON of Kubernetes objects and of lists of them, one object after the
// other: a list costs the memory of its largest object. An answer may come from anybody, and the
// shortest objects need forty times the memory of their text.

package running

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/wording"
)

// The bounds of what is read.
const (
	MaxObjects = 20_000    // Kubernetes supports 5,000 Nodes
	maxObject  = 4 << 20   // bytes of an object; etcd takes requests of 1.5 MiB
	maxSkipped = 28 << 20  // bytes of an object of a list beyond that, which nobody gets
	maxParts   = 100_000   // of an object: how much memory it needs when it is decoded
	maxFields  = 100       // of an object itself; those of Kubernetes have some ten
	MaxBytes   = 128 << 20 // of all objects: 5,000 Nodes have some 60 MB
)

// Errors of Next, as the end of a sentence about the text.
var (
	ErrNoJSON         = errors.New("not JSON")
	ErrNoObject       = errors.New("not an object of Kubernetes")
	errTooLong  error = Bound(fmt.Sprintf("more than %d MiB", MaxBytes>>20))
	errTooMany  error = Bound(fmt.Sprintf("more than %d objects", MaxObjects))
	errTooLarge error = Bound(fmt.Sprintf("an object of more than %d MiB", maxObject>>20))
)

// Bound is the error of a text that has more than is read: what was read before it counts.
type Bound string

func (b Bound) Error() string { return string(b) }

// IsBound reports whether an error is a Bound.
func IsBound(err error) bool {
	var b Bound
	return errors.As(err, &b)
}

// partsError comes for an object that has more parts than are read.
type partsError int

func (p partsError) Error() string { return fmt.Sprintf("an object of more than %d parts", p) }

// CheckParts returns an error if a JSON text has more parts than that: commas outside of strings.
func CheckParts(text []byte, most int) error {
	n, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++ // it stands in strings alone
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			n++
		}
	}
	if n > most {
		return partsError(most)
	}
	return nil
}

// Head is what an object says of itself before its content.
type Head struct {
	Kind   string
	IsList bool
	// Continue is set for a part of a list: it asks for the next one.
	Continue string
}

// Reader reads objects and lists, one after the other. Its bounds hold for all of them together.
type Reader struct {
	count int
	left  int64
	in    *bounded
	dec   *json.Decoder
	text  json.RawMessage
	large []string // the names of items that are too large
}

// Count returns how many objects were read.
func (r *Reader) Count() int { return r.count }

// Unread returns a Bound that names the items which were too large, and were passed to nobody; nil
// if there were none.
func (r *Reader) Unread() error {
	if len(r.large) == 0 {
		return nil
	}
	shown := strings.Join(r.large[:min(len(r.large), maxShown)], ", ")
	if more := len(r.large) - maxShown; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return Bound(shown + ": too large to read")
}

// maxShown is how many names of unread items are shown, and maxName how long each may be.
const (
	maxShown = 5
	maxName  = 253
	nameless = "an object without a name"
)

// name returns the name of the object that was read last, with its namespace.
func (r *Reader) name() string {
	var o struct {
		Metadata struct{ Name, Namespace string }
	}
	_ = json.Unmarshal(r.text, &o) // else the name cannot be read
	name := wording.VisibleLine(cmp.Or(o.Metadata.Name, nameless), maxName)
	if o.Metadata.Namespace != "" {
		return wording.VisibleLine(o.Metadata.Namespace, maxName) + "/" + name
	}
	return name
}

// Read makes r the text that Next reads.
func (r *Reader) Read(text io.Reader) {
	if r.in == nil {
		r.left = MaxBytes
	}
	r.in = &bounded{from: text, all: &r.left}
	r.dec = json.NewDecoder(r.in)
}

// Next reads the next object, or a list, and calls do with the text of the object, or of each item.
// The text is valid until do returns. An item that is too large, or has too many parts, for itself
// or for do (CheckParts), is left out (Unread). Next returns io.EOF after the last one, the error
// of do, and an error if another bound is exceeded or the text is no JSON of objects.
func (r *Reader) Next(do func(text []byte) error) (Head, error) {
	r.in.object = maxObject
	switch start, err := r.dec.Token(); {
	case errors.Is(err, io.EOF):
		return Head{}, io.EOF
	case err != nil:
		return Head{}, explain(err)
	case start != json.Delim('{'):
		return Head{}, ErrNoObject
	}
	var head Head
	fields := map[string]json.RawMessage{}
	for count := 0; r.dec.More(); count++ {
		if count == maxFields {
			return head, ErrNoObject
		}
		key, err := r.dec.Token()
		if err != nil {
			return head, explain(err)
		}
		if key == "items" {
			head.IsList = true
			if err := r.each(do); err != nil {
				return head, err
			}
			continue
		}
		if err := r.value(); err != nil {
			return head, err
		}
		if name, _ := key.(string); slices.Contains(kept, name) {
			fields[name] = slices.Clone(r.text)
		}
	}
	if _, err := r.dec.Token(); err != nil {
		return head, explain(err)
	}
	var meta struct{ Continue string }
	if json.Unmarshal(fields["kind"], &head.Kind) != nil && fields["kind"] != nil {
		return head, ErrNoObject
	}
	if head.IsList {
		_ = json.Unmarshal(fields["metadata"], &meta) // an item need not have one
		head.Continue = meta.Continue
		return head, nil
	}
	if r.count++; r.count > MaxObjects {
		return head, errTooMany
	}
	whole, err := json.Marshal(fields)
	if err != nil {
		return head, explain(err)
	}
	return head, do(whole)
}

// kept are the fields of an object that others read.
var kept = []string{"apiVersion", "kind", "metadata", "spec", "status", "data"}

// each calls do with the text of each item of a list.
func (r *Reader) each(do func(text []byte) error) error {
	switch start, err := r.dec.Token(); {
	case err != nil:
		return explain(err)
	case start == nil: // an empty list of Go is null
		return nil
	case start != json.Delim('['):
		return ErrNoObject
	}
	for r.dec.More() {
		if r.count++; r.count > MaxObjects {
			return errTooMany
		}
		err := r.value()
		if err == nil {
			err = do(r.text)
		}
		if parts := partsError(0); errors.As(err, &parts) {
			r.large, err = append(r.large, r.name()), nil
		} else if errors.Is(err, errTooLarge) {
			err = r.skip()
		}
		if err != nil {
			return err
		}
	}
	if _, err := r.dec.Token(); err != nil {
		return explain(err)
	}
	return nil
}

// skip passes over an item of which the decoder has read as much as it may, and goes on after it
// with a new decoder, which is in a list too.
func (r *Reader) skip() error {
	r.in.object = maxSkipped
	rest := bufio.NewReader(io.MultiReader(r.dec.Buffered(), r.in))
	start, _ := rest.Peek(maxName)
	_, name, _ := bytes.Cut(start, []byte(`{"metadata":{"name":"`)) // as the API server writes it
	name, _, _ = bytes.Cut(name, []byte(`"`))
	r.large = append(r.large, wording.VisibleLine(cmp.Or(string(name), nameless), maxName))
	for depth, quoted := 0, false; ; {
		c, err := rest.ReadByte()
		if err != nil {
			return explain(err)
		}
		switch {
		case c == '\\':
			_, _ = rest.Discard(1)
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				r.dec = json.NewDecoder(io.MultiReader(strings.NewReader(`{"":[0`), rest))
				for range 4 {
					if _, err := r.dec.Token(); err != nil {
						return explain(err)
					}
				}
				return nil
			}
		}
	}
}

// value reads the next value into r.text.
func (r *Reader) value() error {
	r.in.object = maxObject
	if err := r.dec.Decode(&r.text); err != nil {
		return explain(err)
	}
	return CheckParts(r.text, maxParts)
}

// explain returns the error of a text that ends too early or is no JSON as ErrNoJSON.
func explain(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrNoJSON
	}
	return err
}

// bounded reads a text within the bounds of one object and of all.
type bounded struct {
	from   io.Reader
	object int64
	all    *int64
}

func (b *bounded) Read(p []byte) (int, error) {
	switch {
	case *b.all <= 0:
		return 0, errTooLong
	case b.object <= 0:
		return 0, errTooLarge
	}
	n, err := b.from.Read(p[:min(int64(len(p)), *b.all, b.object)])
	*b.all -= int64(n)
	b.object -= int64(n)
	return n, err
}

package running_test

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/fleet/running"
)

// read returns the heads of all objects and lists of a text, and what each object is.
func read(text io.Reader) (heads []running.Head, objects []string, err error) {
	var r running.Reader
	r.Read(text)
	for {
		head, err := r.Next(func(text []byte) error {
			objects = append(objects, string(text))
			return nil
		})
		if errors.Is(err, io.EOF) {
			return heads, objects, nil
		}
		if err != nil {
			return heads, objects, err
		}
		heads = append(heads, head)
	}
}

// TestNext: lists and objects are read in every order of their keys.
func TestNext(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text    string
		heads   []running.Head
		objects []string
		err     error
	}{
		"nothing": {},
		"a list of the API": {
			text: `{"kind":"NodeList","apiVersion":"v1","metadata":{"continue":"x"},` +
				`"items":[{"a":1}, {"b":[2,3]}]}`,
			heads:   []running.Head{{Kind: "NodeList", IsList: true, Continue: "x"}},
			objects: []string{`{"a":1}`, `{"b":[2,3]}`},
		},
		"a list of kubectl": {
			text:    `{"apiVersion":"v1","items":[{"kind":"Node"}],"kind":"List","metadata":{}}`,
			heads:   []running.Head{{Kind: "List", IsList: true}},
			objects: []string{`{"kind":"Node"}`},
		},
		"an empty list": {
			text:  `{"kind":"List","items":[]}{"kind":"List","items":null}`,
			heads: []running.Head{{Kind: "List", IsList: true}, {Kind: "List", IsList: true}},
		},
		"an object": {
			text:    "\n{\"kind\":\"Node\",\"x\":{\"y\":[]},\"spec\":[1]}\n",
			heads:   []running.Head{{Kind: "Node"}},
			objects: []string{`{"kind":"Node","spec":[1]}`},
		},
		"HTML":             {text: "<html>", err: running.ErrNoJSON},
		"half an object":   {text: `{"kind":"Node"`, err: running.ErrNoJSON},
		"half a list":      {text: `{"items":[{}`, err: running.ErrNoJSON, objects: []string{"{}"}},
		"a number":         {text: "1", err: running.ErrNoObject},
		"an array":         {text: "[{}]", err: running.ErrNoObject},
		"items of no list": {text: `{"items":{"a":1}}`, err: running.ErrNoObject},
		"a kind of none":   {text: `{"kind":{}}`, err: running.ErrNoObject},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			heads, objects, err := read(strings.NewReader(row.text))
			require.ErrorIs(t, err, row.err)
			require.Equal(t, row.heads, heads)
			require.Equal(t, row.objects, objects)
		})
	}
}

// endless is a text that begins with start and goes on with one other text for ever.
type endless struct{ start, again string }

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if e.start == "" {
			e.start = e.again
		}
		copied := copy(p[n:], e.start)
		e.start = e.start[copied:]
		n += copied
	}
	return n, nil
}

// TestBounds: no text costs more memory than that of some large objects. What is allocated in sum
// is more than what is there at any moment.
func TestBounds(t *testing.T) {
	const tooLarge = "an object of more than 4 MiB"
	for name, row := range map[string]struct{ start, again, err string }{
		"short objects":                     {`{"items":[{}`, ",{}", "more than 20000 objects"},
		"short objects one after the other": {"{}", "{}", "more than 20000 objects"},
		"a string":                          {`{"items":[{"a":"`, "a", tooLarge},
		"a key":                             {`{"`, "a", tooLarge},
		"a field":                           {`{"spec":{"a":"`, "a", tooLarge},
		"fields":                            {`{"a":0`, `,"a":0`, "not an object of Kubernetes"},
		"levels":                            {`{"items":[`, "[", "not JSON"},
		"objects in objects":                {`{"a":`, `{"a":`, "not JSON"},
		"blanks":                            {"", strings.Repeat(" ", 512), tooLarge},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := read(&endless{row.start, row.again})
		runtime.ReadMemStats(&after)
		require.ErrorContains(t, err, row.err, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), name)
	}
	parts := `{"items":[{"a":[0` + strings.Repeat(",0", 200_000) + `]}]}`
	_, _, err := read(strings.NewReader(parts[len(`{"items":[`) : len(parts)-2]))
	require.ErrorContains(t, err, "more than 100000 parts")
	long := `,{"a":"` + strings.Repeat("a", 1<<20) + `"}`
	_, _, err = read(&endless{`{"items":[{}`, long})
	require.ErrorContains(t, err, "more than 128 MiB")
}

// TestPages: the bounds hold for all pages of a list together.
func TestPages(t *testing.T) {
	t.Parallel()
	var r running.Reader
	page := `{"items":[{}` + strings.Repeat(",{}", running.MaxObjects/2-1) + `]}`
	ignore := func([]byte) error { return nil }
	for range 2 {
		r.Read(strings.NewReader(page))
		_, err := r.Next(ignore)
		require.NoError(t, err)
	}
	r.Read(strings.NewReader(page))
	_, err := r.Next(ignore)
	require.ErrorContains(t, err, "more than 20000 objects")
}

// TestSkip: an item of too many bytes is named, and what follows is read.
func TestSkip(t *testing.T) {
	t.Parallel()
	long := `{"metadata":{"name":"big"},"x":["}\"` + strings.Repeat("a", 9<<20) + `"]}`
	for _, list := range []string{`{"a":1},` + long + `,{"b":2}`, long + `,{"a":1},{"b":2}`,
		`{"a":1},{"b":2},` + long} {
		var r running.Reader
		r.Read(strings.NewReader(`{"items":[` + list + `],"metadata":{"continue":"x"}} {"c":3}`))
		count := 0
		head, err := r.Next(func([]byte) error { count++; return nil })
		require.NoError(t, err)
		require.Equal(t, running.Head{IsList: true, Continue: "x"}, head)
		require.Equal(t, 2, count)
		require.EqualError(t, r.Unread(), "big: too large to read")
		_, err = r.Next(func([]byte) error { return nil })
		require.NoError(t, err)
		_, err = r.Next(nil)
		require.ErrorIs(t, err, io.EOF)
	}
}

// TestUnread: an item with too many parts is named, and the others are read. A comma in a string is
// no part.
func TestUnread(t *testing.T) {
	t.Parallel()
	parts := `0` + strings.Repeat(",0", 200_000)
	text := `{"items":[{"metadata":{"name":"a","namespace":"x"},"spec":[` + parts +
		`]},{"b":"\\\"` + parts + `"},{"spec":[` + parts + `]}]}`
	var r running.Reader
	r.Read(strings.NewReader(text))
	count := 0
	_, err := r.Next(func([]byte) error { count++; return nil })
	require.NoError(t, err)
	require.Equal(t, 1, count)
	require.EqualError(t, r.Unread(), "x/a, an object without a name: too large to read")
	require.True(t, running.IsBound(r.Unread()))
}

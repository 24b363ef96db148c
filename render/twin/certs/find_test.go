package certs

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnread: a content that unpacks to too much is in the list, as one that cannot be read.
func TestUnread(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, err := w.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	list := find(bomb.Bytes())
	require.Len(t, list, 1)
	require.Equal(t, Entry{Kind: Certificate,
		Fault: "packed data that is too large to search for certificates"}, list[0].entry())
}

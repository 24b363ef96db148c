package serve

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOutOfFiles: fetches and announcements are written to disk although the process may open no
// more files. It changes a limit of the process, so no other test runs meanwhile.
func TestOutOfFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "served.json")
	l := open(t, path)
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	less := limit
	less.Cur = 128
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &less))
	var others []*os.File
	defer func() {
		for _, f := range others {
			_ = f.Close()
		}
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	}()
	var err error
	for err == nil {
		var f *os.File
		if f, err = os.Open(os.DevNull); err == nil {
			others = append(others, f)
		}
	}
	require.True(t, IsOutOfFiles(err), "%v", err)
	for _, path := range []string{"/cp-1/user-data", "/cp-2/user-data"} { // the reserve comes back
		require.NoError(t, l.Add(*fetchOf(path)))
		require.NoError(t, l.KeepBoard())
	}
	for _, f := range others[:20] {
		require.NoError(t, f.Close())
	}
	others = others[20:]
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "/cp-2/user-data")
}

// TestUnsettled: a fetch that could not be written counts, and Settle writes it later.
func TestUnsettled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "served.json")
	l := open(t, path)
	require.NoError(t, l.Settle())
	require.NoError(t, os.Rename(dir, dir+"-away"))
	require.Error(t, l.Add(*fetchOf("/cp-1/user-data")))
	require.NotNil(t, l.Find(fetchOf("/cp-1/user-data")))
	require.ErrorContains(t, l.Settle(), "the state cannot be kept")
	require.NoError(t, os.Rename(dir+"-away", dir))
	require.NoError(t, l.Settle())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "/cp-1/user-data")
}

// TestUnconfirmed: what was not confirmed is no fetch, and the same machine at the same address
// replaces it.
func TestUnconfirmed(t *testing.T) {
	t.Parallel()
	l := open(t, filepath.Join(t.TempDir(), "served.json"))
	f := Fetch{Path: "/pools/blue/user-data", SHA256: "ab", Machine: "uuid 1", Remote: "10.0.0.1:1"}
	sent := f
	sent.Unconfirmed = true
	require.NoError(t, l.Add(sent))
	other := sent
	other.Remote = "10.0.0.2:1"
	require.NoError(t, l.Add(other))
	require.Nil(t, l.Find(&f))
	require.Zero(t, l.Count(&f))
	require.False(t, l.IsFetched(f.Path))
	require.Len(t, l.Unconfirmed(&f), 2)
	f.Remote = "10.0.0.1:2"
	require.NoError(t, l.Add(f))
	require.Equal(t, []Fetch{other}, l.Unconfirmed(&f))
	require.Equal(t, 1, l.Count(&f))
	size := l.size
	l.count()
	require.Equal(t, size, l.size)
}

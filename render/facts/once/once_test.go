package once_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/once"
)

// TestValues: a value is made once for each text, and each text has its own.
func TestValues(t *testing.T) {
	t.Parallel()
	var lengths once.Values[int]
	made := 0
	length := func(text string) int {
		return lengths.Of([]byte(text), func() int { made++; return len(text) })
	}
	for range 3 {
		for i := range 10 {
			require.Equal(t, i, length(strings.Repeat("a", i)))
		}
	}
	require.Equal(t, 10, made)
}

// TestFull: texts that come once do not take the place of a text that comes again, and memory stays
// bounded.
func TestFull(t *testing.T) {
	t.Parallel()
	var values once.Values[int]
	fill := strings.Repeat("x", 1<<20)
	made := 0
	of := func(text string) { values.Of([]byte(text), func() int { made++; return 0 }) }
	for i := range 100 { // a hundred MiB
		of(fmt.Sprint(i, fill))
	}
	require.Equal(t, 100, made)
	for range 3 {
		of("shared")
	}
	require.Equal(t, 101, made, "there is room for a small text")
	for range 3 {
		of("shared" + fill)
	}
	require.Equal(t, 103, made, "a large text is kept when it comes again")
	for round := range 3 {
		for i := range 100 {
			of(fmt.Sprint("again", i, fill))
		}
		require.GreaterOrEqual(t, made, 103+96*(round+1), "4 MiB hold no hundred")
	}
}

// TestGoroutines: several goroutines get the value of their text.
func TestGoroutines(t *testing.T) {
	t.Parallel()
	var values once.Values[string]
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 1000 {
				text := fmt.Sprint(i % 50)
				got := values.Of([]byte(text), func() string { return text + "!" })
				require.Equal(t, text+"!", got)
			}
		})
	}
	group.Wait()
}

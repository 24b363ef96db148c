package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// impure are the standard library's ways to the network, the machine, its environment and
// randomness.
var impure = []string{
	"net/http", "os", "os/exec", "os/user", "syscall", "crypto/rand", "math/rand", "math/rand/v2",
	"log", "log/slog", "io/ioutil",
}

// outside matches what asks for the time, the environment or the network.
var outside = regexp.MustCompile(`\b(time\.(Now|Since|Until|Local|After|AfterFunc|Tick|NewTimer|` +
	`NewTicker|Sleep)|os\.(Getenv|LookupEnv|Environ)|net\.(Dial|Listen|Lookup|Resolver)\w*)\b`)

// TestPure: the packages between reading and writing import no way out, and do not ask for the
// time. They use net for its address types alone, and time for its arithmetic.
func TestPure(t *testing.T) {
	t.Parallel()
	exceptions := map[string][]string{
		"pki/private": {
			"crypto/rand",
		},
		"render": {
			"os",
			"syscall",
		},
		"render/folder": {
			"os",
			"syscall",
		},
	}
	for _, r := range measure(t) {
		path := r.path
		if strings.HasPrefix(path, "cmd/") || strings.HasPrefix(path, "test/") {
			continue // they are the edge
		}
		for _, imported := range r.imports {
			if slices.Contains(impure, imported) {
				require.Contains(t, exceptions[path], imported,
					"%s must not import %s", path, imported)
			}
		}
		for _, file := range r.files {
			text, err := os.ReadFile(filepath.Join(r.dir, file))
			require.NoError(t, err)
			require.Empty(t, outside.FindAllString(string(text), -1), "%s/%s", path, file)
			touchesDisk := []string{
				"files.go", "output.go", "read.go", "state.go", "twin.go", "unpack.go",
			}
			if path == "render" && !slices.Contains(touchesDisk, file) {
				require.NotContains(t, string(text), "\"os\"\n", "%s/%s", path, file)
			}
		}
	}
}

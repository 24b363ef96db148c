package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAge: the age program reads what kiln writes, and kiln reads what the age program wrote. It is
// built from the module that kiln has.
func TestAge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "filippo.io/age").Output()
	require.NoError(t, err)
	build := exec.Command("go", "build", "-o", dir+"/", "./cmd/age", "./cmd/age-keygen")
	build.Dir = strings.TrimSpace(string(source))
	build.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	work := filepath.Join(dir, "work")
	require.NoError(t, os.Mkdir(work, 0o700))
	cmd := exec.Command("sh", "-c", `set -e
age=$1 kiln=$2
umask 077
for kind in "" -pq; do
	mkdir "k$kind"
	cd "k$kind"
	"$age-keygen" $kind -o key 2>/dev/null
	to=$("$age-keygen" -y key)
	"$kiln" init --name demo --address 10.0.0.11,10.0.0.21 >cluster.yaml
	echo "  secrets: {recipients: [$to]}" >>cluster.yaml
	"$kiln" render cluster.yaml --out nodes --new-recipient "$to" 2>/dev/null
	"$age" -d -i key demo.secrets.yaml.age >plain
	grep -q '^leafSeed: ' plain
	grep -q "^- $to\$" plain
	for armor in "" -a; do
		"$age" -e $armor -r "$to" -o again plain
		"$kiln" render cluster.yaml --out nodes --check --secrets again --identity key
		rm again
	done
	"$kiln" render cluster.yaml --out nodes --check --secrets - <plain
	cd ..
done
`, "sh", filepath.Join(dir, "age"), program(t))
	cmd.Dir = work
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

package templates_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/templates"
)

// snapshot is a snapshot as etcd sends it: pages of its data, followed by their SHA-256.
func snapshot() []byte {
	data := bytes.Repeat([]byte("page of data... "), 3*512/16)
	sum := sha256.Sum256(data)
	return append(data, sum[:]...)
}

// streamed returns a snapshot as etcd's gateway sends it: a line of JSON for each piece.
func streamed(data []byte) string {
	var b strings.Builder
	for piece := range slices.Chunk(data, 700) {
		fmt.Fprintf(&b, `{"result":{"header":{"cluster_id":"1","member_id":"2","revision":"7",`+
			`"raft_term":"2"},"remaining_bytes":"1","blob":"%s","version":"3.6.11"}}`+"\n",
			base64.StdEncoding.EncodeToString(piece))
	}
	return b.String()
}

// backupCurl answers with the stream in WORLD/stream, and fails as WORLD/curl-fails says.
const backupCurl = `#!/bin/sh
echo "$*" >"$WORLD/curl"
cat "$WORLD/stream"
[ ! -e "$WORLD/curl-fails" ] || { cat "$WORLD/curl-fails" >&2; exit 22; }
`

var backupRows = []struct {
	name string
	// the folder for snapshots, what the fake commands know
	arrange func(t *testing.T, dir, world string)
	left    []string // in the folder in the end; NEW is the snapshot
	fault   string
}{
	{name: "a first one", left: []string{"NEW"}, arrange: func(*testing.T, string, string) {}},
	{name: "the oldest goes", arrange: func(t *testing.T, dir, _ string) {
		for _, name := range []string{
			"etcd-cp-1-20250101T000000Z.db", "etcd-cp-1-20250102T000000Z.db",
			"etcd-cp-1-20250102T000001Z.db", "etcd-cp-1.part",
			// Snapshots of other members.
			"etcd-cp-2-20240101T000000Z.db", "etcd-cp-1-2-20240101T000000Z.db",
			"etcd-cp-1-20240101.db", "notes",
		} {
			write(t, dir+"/"+name, "x", 0o600)
		}
	}, left: []string{"NEW", "etcd-cp-1-2-20240101T000000Z.db", "etcd-cp-1-20240101.db",
		"etcd-cp-1-20250102T000000Z.db", "etcd-cp-1-20250102T000001Z.db",
		"etcd-cp-2-20240101T000000Z.db", "notes"}},
	{name: "cut off", left: []string{"etcd-cp-1-20250101T000000Z.db"},
		arrange: func(t *testing.T, dir, world string) {
			write(t, dir+"/etcd-cp-1-20250101T000000Z.db", "x", 0o600)
			write(t, world+"/stream", streamed(snapshot()[:1000]), 0o600)
			write(t, world+"/curl-fails", "curl: (18) transfer closed", 0o600)
		}, fault: "https://10.0.0.11:2378: 1000 bytes arrived, which is no whole snapshot: curl: " +
			"(18) transfer closed; "},
	{name: "etcd is down", arrange: func(t *testing.T, _, world string) {
		write(t, world+"/stream", "", 0o600)
		write(t, world+"/curl-fails", "curl: (7) refused\n", 0o600)
	}, fault: "https://10.0.0.11:2378: 0 bytes arrived, which is no whole snapshot: curl: " +
		"(7) refused; "},
	{name: "an error instead", arrange: func(t *testing.T, _, world string) {
		write(t, world+"/stream", `{"error":{"code":14,"message":"closed"}}`, 0o600)
	}, fault: "https://10.0.0.11:2378: 0 bytes arrived, "},
	{name: "another byte", arrange: func(t *testing.T, _, world string) {
		data := snapshot()
		data[77] ^= 1
		write(t, world+"/stream", streamed(data), 0o600)
	}, fault: "https://10.0.0.11:2378: what arrived does not have its checksum; "},
	{name: "no room", left: []string{"etcd-cp-1-20250101T000000Z.db"},
		arrange: func(t *testing.T, dir, world string) {
			write(t, dir+"/etcd-cp-1-20250101T000000Z.db", "x", 0o600)
			write(t, world+"/free", "4096 1", 0o600)
		}, fault: "/var/backups/etcd: 4096 bytes free, twice the data is 8000; "},
	{name: "no folder", left: nil, arrange: func(t *testing.T, dir, _ string) {
		must(t, os.RemoveAll(dir))
		write(t, dir, "a file", 0o600)
	}, fault: "/var/backups/etcd: mkdir: can"},
}

// TestBackup runs the real script on real snapshots, under each shell.
func TestBackup(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		for _, row := range backupRows {
			t.Run(row.name, func(t *testing.T) {
				t.Parallel()
				root, world, bin := t.TempDir(), t.TempDir(), t.TempDir()
				dir := root + "/var/backups/etcd"
				must(t, os.MkdirAll(dir, 0o700))
				must(t, os.MkdirAll(root+"/var/lib/etcd/member/snap", 0o700))
				write(t, root+"/var/lib/etcd/member/snap/db", strings.Repeat("x", 4000), 0o600)
				must(t, os.MkdirAll(root+"/etc/kiln", 0o700))
				write(t, root+"/etc/kiln/machine",
					"etcd_member='cp-1'\nbackup_directory='/var/backups/etcd'\nbackup_keep='3'\n"+
						"backup_url='https://10.0.0.11:2378'\n", 0o600)
				write(t, root+"/etc/kiln/backup", templates.Backup, 0o600)
				write(t, bin+"/curl", backupCurl, 0o755)
				write(t, bin+"/stat", "#!/bin/sh\ncase $1 in -f) cat \"$WORLD/free\" ;; "+
					"*) exec /usr/bin/stat \"$@\" ;; esac\n", 0o755)
				write(t, world+"/free", "4096 2000", 0o600)
				write(t, world+"/stream", streamed(snapshot()), 0o600)
				row.arrange(t, dir, world)

				cmd := exec.Command(shell[0], append(slices.Clone(shell[1:]),
					root+"/etc/kiln/backup")...)
				cmd.Env = []string{"KILN_ROOT=" + root, "WORLD=" + world,
					"PATH=" + bin + ":/usr/bin:/bin"}
				out, err := cmd.CombinedOutput()
				if row.fault != "" {
					if err == nil || !strings.HasPrefix(string(out),
						"FAULT etcd-backup "+row.fault) || strings.Count(string(out), "\n") != 1 {
						t.Errorf("%v\n%s\nwant one line FAULT etcd-backup %s", err, out, row.fault)
					}
				} else if err != nil || !strings.HasPrefix(string(out),
					"/var/backups/etcd/etcd-cp-1-") {
					t.Errorf("%v\n%s", err, out)
				}
				var left []string
				entries, _ := os.ReadDir(dir)
				for _, e := range entries {
					name := e.Name()
					if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil &&
						bytes.Equal(data, snapshot()) {
						_, err := time.Parse("etcd-cp-1-20060102T150405Z.db", name)
						require.NoError(t, err)
						name = "NEW"
					}
					left = append(left, name)
				}
				slices.Sort(left)
				require.Equal(t, row.left, left)
				pki := root + "/etc/etcd/pki"
				if row.fault == "" {
					require.Contains(t, readText(t, world+"/curl"),
						" -d {} --cacert "+pki+"/ca.crt --cert "+pki+"/server.crt ")
				}
			})
		}
	})
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

package templates_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/templates"
	"kiln.dev/kiln/test/need"
)

// storeFake is a ctr whose store is a folder with a file for each image, named by the digest. It
// takes what it is given apart with the real tar, and keeps it.
const storeFake = `
cd "$WORLD"
echo "$*" >>said
case $* in
*' images ls name=='*)
	echo REF TYPE DIGEST
	name=${5#name==}
	! grep -qsxF "$name" stored/* ||
		echo "$name $(grep -lxF "$name" stored/* | sed s,stored/,sha256:,) 1"
	;;
*' images import -')
	mkdir in && tar -xf - -C in || exit
	cp in/index.json index
	(cd in && find . -type f) | sort >members
	name=$(sed 's/.*"io.containerd.image.name":"\([^"]*\)".*/\1/' in/index.json)
	rm -f $(grep -lsxF "$name" stored/*)
	for digest in $(sed 's/.*"digest":"sha256:\([0-9a-f]*\)".*/\1/' in/index.json); do
		echo "$name" >"stored/$digest"
	done
	rm -r in
	[ ! -e torn ] || { echo 'ctr: content digest not found'; exit 1; } # 1.7 keeps the name
	;;
*' images rm '*) rm $(grep -lxF "$5" stored/*) && echo "$5" ;;
*' images pull '*)
	echo "$HTTPS_PROXY" >proxy
	[ ! -e lost ] || { echo 'pulling'; echo 'ctr: no such host' >&2; exit 1; }
	case $7 in *@*) echo "$7" >"stored/${7#*@sha256:}" ;; esac
	;;
*' images label '*) [ ! -e unlabeled ] || { echo 'ctr: no such image'; exit 1; } ;;
*) exit 3 ;;
esac`

// TestPreload: the images of a machine come from an archive, a medium or registries, and are
// pinned. Nothing that an archive says becomes an option, another file or another image.
func TestPreload(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
		blob := func(digest string) string { return "blobs/sha256/" + digest }
		const manifest = "application/vnd.oci.image.index.v1+json"
		parts := func(lines ...string) string { return strings.Join(lines, "\n") + "\n" }
		const endless = "a list without an end"
		list := "r.test/a@sha256:" + a + "\nr.test/b:1 sha256:" + b + "\n"
		all := files{
			"/opt/archive/oci-layout": "{}",
			"/opt/archive/index.json": "not this one",
			"/opt/archive/" + blob(a): "a", "/opt/archive/" + blob(b): "b",
			"/opt/archive/parts/amd64/" + a: parts(manifest+" 7", blob(a), blob(b)),
			"/opt/archive/parts/amd64/" + b: parts(manifest+" 7", blob(b)),
			"/opt/archive/parts/arm64/" + b: parts(manifest+" 7", blob(a)),
			"/etc/kiln/preload":             list,
			"/run/kiln/":                    "", "/etc/secret": "secret",
		}
		for _, row := range []struct {
			name, from string
			change     files // "" removes a file
			world      files
			want       string   // how it ends
			members    []string // of the last image that was brought
			brought    int
		}{
			{"an archive", "/opt/archive", nil, nil, "0 ",
				[]string{blob(b), "index.json", "oci-layout"}, 2},
			{"an image is there", "/opt/archive", nil, files{"/stored/" + b: "r.test/b:1\n"}, "0 ",
				[]string{blob(a), blob(b), "index.json", "oci-layout"}, 1},
			{"another image has the name", "/opt/archive", files{
				"/etc/kiln/preload": "r.test/b:1 sha256:" + b + "\n",
			}, files{"/stored/" + a: "r.test/b:1\n"}, "0 ",
				[]string{blob(b), "index.json", "oci-layout"}, 1},
			{"an image is missing", "/opt/archive", files{"/opt/archive/parts/amd64/" + b: ""}, nil,
				"3 r.test/b:1: no ROOT/opt/archive/parts/amd64/" + b,
				[]string{blob(a), blob(b), "index.json", "oci-layout"}, 1},
			{"an image is not pinned", "/opt/archive", nil, files{"/unlabeled": "\n"},
				"3 r.test/a@sha256:" + a + ": ctr: no such image; r.test/b:1: ctr: no such image",
				nil, 2},
			{"an import fails", "/opt/archive", nil, files{"/torn": "\n"},
				"3 r.test/a@sha256:" + a + ": ctr: content digest not found; r.test/b:1: ctr: " +
					"content digest not found 3", nil, 4},
			{endless, "/opt/archive", files{
				"/etc/kiln/preload": "r.test/a@sha256:" + a + "\n",
			}, nil, "0 ", []string{blob(a), blob(b), "index.json", "oci-layout"}, 1},
			{"no archive", "/opt/other", nil, nil, "3 r.test/a@sha256:" + a +
				": no ROOT/opt/other/parts/amd64/" + a + "; r.test/b:1: no ROOT/opt/other/parts/" +
				"amd64/" + b, nil, 0},
			{"lines of an attacker", "/opt/archive", files{
				"/etc/kiln/preload": "r.test/a@sha256:" + a + "\n",
				"/opt/archive/parts/amd64/" + a: parts(
					`x","digest":"sha256:`+b+`","y":" 7},{"digest":"sha256:`+b+`"`, blob(a),
					"--checkpoint=1", "--checkpoint-action=exec=touch /run/kiln/owned",
					"../../etc/secret", "blobs/sha256/../../../../etc/secret",
					"/etc/secret", blob(a)+" ../../etc/secret", "-C", "/etc", "secret",
					"blobs sha256 "+a, "blobs/sha256/", "blobs/sha256/"+a[1:], "blobs.sha256/"+a),
			}, nil, "0 ", []string{blob(a), "index.json", "oci-layout"}, 1},
			{"a medium", "medium", nil, nil, "0 ",
				[]string{blob(b), "index.json", "oci-layout"}, 2},
			{"registries", "registry", nil, nil, "3 r.test/b:1: REF TYPE DIGEST", nil, 2},
			{"no registry", "registry", nil, files{"/lost": "\n"}, "3 r.test/a@sha256:" + a +
				": pulling ctr: no such host; r.test/b:1: pulling ctr: no such host", nil, 2},
		} {
			had := files{}
			for path, text := range all {
				if row.from == "medium" {
					path = strings.Replace(path, "/opt/archive", "/cdrom", 1)
				}
				had[path] = text
			}
			for path, text := range row.change {
				if had[path] = text; text == "" {
					delete(had, path)
				}
			}
			m := machineFolder(t, had, programs{
				"ctr":       storeFake,
				"systemctl": "echo HTTPS_PROXY=http://p.test:3128",
				"systemd-run": `[ "$*" = "--quiet --wait mount -r -o nosuid,nodev,noexec ` +
					`-L KILN-DATA $KILN_ROOT/run/kiln/medium" ] && cp -R "$KILN_ROOT/cdrom/." ` +
					`"$KILN_ROOT/run/kiln/medium"`,
			})
			if row.name == endless {
				must(t, os.Truncate(m+"/root/opt/archive/parts/amd64/"+a, 1<<40))
			}
			world := machineFolder(t, row.world, nil) + "/root"
			must(t, os.MkdirAll(world+"/stored", 0o700))
			holds := map[string][]string{
				"registry": {templates.IfPulls},
				"medium":   {templates.IfArchive, templates.IfMedium},
			}[row.from]
			if holds == nil {
				holds = []string{templates.IfArchive}
			}
			script := "set -euf\numask 077\nroot=$KILN_ROOT etc=$root/etc/kiln " +
				"run=$root/run/kiln found='' arch=amd64 preload=$1\n" +
				templates.Steps(holds, nil, []string{"loaded"}) +
				"say() { :; }\nrc=0\nloaded || rc=$?\nprintf '%s %s' $rc \"$found\"\n" +
				"[ ! -e \"$WORLD/torn\" ] || { rc=0; loaded || rc=$?; echo \" $rc\"; }\n"
			cmd := exec.Command(shell[0], append(shell[1:], "-c", script, "sh", row.from)...)
			cmd.Env = []string{"PATH=" + m + "/bin:" + os.Getenv("PATH"), "WORLD=" + world,
				"KILN_ROOT=" + m + "/root"}
			out, err := cmd.CombinedOutput()
			got := strings.Join(strings.Fields(strings.ReplaceAll(string(out), m+"/root", "ROOT")),
				" ")
			if row.want == "0 " && strings.HasPrefix(got, "0") {
				got = "0 "
			}
			require.NoError(t, err, row.name)
			require.True(t, strings.HasPrefix(got, row.want), "%s: %s", row.name, got)
			said := ""
			if text, err := os.ReadFile(world + "/said"); err == nil {
				said = string(text)
			}
			require.Equal(t, row.brought,
				strings.Count(said, "images import")+strings.Count(said, "images pull"), "%v: %v",
				row.name, said)
			if row.want == "0 " && strings.Count(said, " io.cri-containerd.pinned=pinned\n") !=
				strings.Count(had["/etc/kiln/preload"], "\n") {
				t.Errorf("%s: not all are pinned:\n%s", row.name, said)
			}
			if row.members != nil {
				checkMembers(t, row.name, world, row.members)
			}
			if row.from == "registry" && content(t, world+"/proxy") != "http://p.test:3128\n" {
				t.Errorf("%s: not through containerd's proxy", row.name)
			}
			_, err = os.Stat(m + "/root/run/kiln/owned")
			require.Error(t, err, row.name)
		}
	})
}

// checkMembers holds the last image that a machine has brought against the files that containerd
// may get, and its index against one with this image alone.
func checkMembers(t *testing.T, name, world string, want []string) {
	t.Helper()
	need.Basic(t, "tar")
	var members []string
	for line := range strings.Lines(content(t, world+"/members")) {
		members = append(members, filepath.Clean(strings.TrimSpace(line)))
	}
	require.Equal(t, want, members, name)
	var index struct {
		SchemaVersion int
		Manifests     []struct{ MediaType, Digest string }
	}
	if err := json.Unmarshal([]byte(content(t, world+"/index")), &index); err != nil ||
		index.SchemaVersion != 2 || len(index.Manifests) != 1 {
		t.Errorf("%s: the index is %q (%v)", name, content(t, world+"/index"), err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

package media_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	ignition "github.com/coreos/ignition/v2/config/v3_4"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/media"
	"kiln.dev/kiln/test/need"
)

// document is what machines are installed with.
const document = `{"ignition":{"version":"3.4.0"}}`

// The paths of the server.
const (
	documentPath  = "/cp-1/config.ign"
	imagePath     = "/images/flatcar/flatcar_production_image.bin.bz2"
	signaturePath = imagePath + ".sig"
)

// live is a live system of Flatcar with an installer, in a folder, and the server beside it.
type live struct {
	t        *testing.T
	root     string
	url      string
	settings media.Settings

	mu      sync.Mutex
	files   map[string]string // what the server has, by path
	asked   []string          // requests
	minutes int               // how often the script slept
	// away reports whether the image is not there, by how often the script slept.
	away func(minutes int) bool
}

// newLive returns a live system that finds everything.
func newLive(t *testing.T) *live {
	t.Helper()
	l := &live{t: t, root: t.TempDir(), files: map[string]string{
		documentPath: document, imagePath: "image", signaturePath: "signature",
	}}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	l.url = server.URL
	sum := sha256.Sum256([]byte(document))
	l.settings = media.Settings{
		Disk: "/dev/vda", Address: l.url + documentPath, SHA256: hex.EncodeToString(sum[:]),
		Image: l.url + imagePath,
	}
	for _, program := range []struct{ name, text string }{
		{"lsblk", `case "$*" in
*TYPE*) [ ! -e "$KILN_ROOT/disks/${5##*/}" ] || echo disk ;;
*) echo '/dev/sdb 1T' ;;
esac
`},
		{"flatcar-install", `echo "flatcar-install $*" >>"$KILN_ROOT/log"
[ -s "$KILN_ROOT/fail" ] || { cp "$4" "$KILN_ROOT/installed" && exit; }
sed -i 1d "$KILN_ROOT/fail"
echo many lines
echo 'gpg: BAD signature' >&2
exit 1
`},
		{"systemctl", `echo "systemctl $*" >>"$KILN_ROOT/log"` + "\n"},
		{"uname", "echo aarch64\n"},
		{"sleep", `curl -q -sSf "` + l.url + `/slept"` + "\n"},
	} {
		l.write("bin/"+program.name, "#!/bin/sh\n"+program.text, 0o755)
	}
	l.write("disks/vda", "", 0o600)
	return l
}

// ServeHTTP gives the document once, as kiln serve does.
func (l *live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.URL.Path == "/slept" {
		l.minutes++
		switch l.minutes {
		case 1:
			l.write("disks/vda", "", 0o600)
		case 2:
			l.files[imagePath] = "image"
		case 3:
			l.files[signaturePath] = "signature"
		case 4:
			l.files[documentPath] = document
		}
		return
	}
	l.asked = append(l.asked, r.Method+" "+r.URL.Path)
	content, ok := l.files[r.URL.Path]
	if !ok || r.URL.Path == imagePath && l.away != nil && l.away(l.minutes) {
		http.NotFound(w, r)
		return
	}
	if r.URL.Path == documentPath {
		delete(l.files, documentPath)
	}
	_, _ = fmt.Fprint(w, content)
}

// write writes a file of the system.
func (l *live) write(name, text string, mode os.FileMode) {
	l.t.Helper()
	path := filepath.Join(l.root, name)
	require.NoError(l.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(l.t, os.WriteFile(path, []byte(text), mode))
}

// read returns a file of the system; it is empty if there is none.
func (l *live) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(l.root, name))
	return string(data)
}

// boot writes what Ignition writes, runs the script, and returns what it prints and whether it
// ended well.
func (l *live) boot(shell []string) (printed string, ok bool) {
	l.t.Helper()
	need.Program(l.t, "curl")
	data, err := media.Flatcar(&l.settings)
	require.NoError(l.t, err)
	config, report, err := ignition.Parse(data)
	require.NoError(l.t, err)
	require.Empty(l.t, report.Entries)
	for i := range config.Storage.Files {
		f := &config.Storage.Files[i]
		encoded := strings.TrimPrefix(*f.Contents.Source, "data:;base64,")
		text, err := base64.StdEncoding.DecodeString(encoded)
		require.NoError(l.t, err)
		l.write(f.Path, string(text), os.FileMode(*f.Mode))
	}
	words := append(shell, filepath.Join(l.root, "opt/bin/kiln-install"))
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = []string{"KILN_ROOT=" + l.root, "PATH=" + l.root + "/bin:" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	return strings.NewReplacer(l.url, "URL", l.settings.SHA256, "SUM").Replace(string(out)),
		err == nil
}

// underEachShell runs test once for each shell that is here.
func underEachShell(t *testing.T, test func(t *testing.T, shell []string)) {
	t.Helper()
	t.Parallel()
	need.Usable(t)
	for _, name := range need.Shells() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			need.Program(t, name)
			test(t, need.Words(name))
		})
	}
}

const (
	installing = "kiln: installing URL" + imagePath + " on /dev/vda; this takes some minutes\n"
	done       = "kiln: installed on /dev/vda; booting it\n"
	command    = "flatcar-install -d /dev/vda -i ROOT/etc/kiln-install.ign -o  -b URL/images " +
		"-V flatcar\n"
	reboot = "systemctl reboot\n"
)

// requireLog holds what the script started to a list.
func (l *live) requireLog(want string) {
	l.t.Helper()
	got := strings.NewReplacer(l.root, "ROOT", l.url, "URL").Replace(l.read("log"))
	require.Equal(l.t, want, got)
}

// TestFlatcarInstalls: the live system asks for disk, image, signature and document, in this order,
// installs, and boots from the disk.
func TestFlatcarInstalls(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		l := newLive(t)
		printed, ok := l.boot(shell)
		require.True(t, ok, printed)
		require.Equal(t, installing+done, printed)
		l.requireLog(command + reboot)
		require.Equal(t, document, l.read("installed"))
		require.Equal(t,
			[]string{"HEAD " + imagePath, "HEAD " + signaturePath, "GET " + documentPath}, l.asked)
	})
}

// TestFlatcarWaits: what is missing is named and waited for. The document, which is given once, is
// asked for last.
func TestFlatcarWaits(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		l := newLive(t)
		clear(l.files)
		require.NoError(t, os.Remove(filepath.Join(l.root, "disks/vda")))
		printed, ok := l.boot(shell)
		require.True(t, ok, printed)
		lines := strings.SplitAfter(printed, "\n")
		require.Len(t, lines, 7)
		require.Equal(t, "kiln: waiting: this machine has no disk /dev/vda, but /dev/sdb 1T, "+
			"correct --install-dev of kiln netboot, and start this machine again\n", lines[0])
		for i, path := range []string{imagePath, signaturePath} {
			require.Regexp(t, "^kiln: waiting: URL"+path+" is not there: curl: .* 404\n$",
				lines[1+i])
		}
		require.Regexp(t, "^kiln: waiting: URL"+documentPath+": curl: .* 404; "+
			"a machine gets its document once, and once more after kiln serve --again\n$", lines[3])
		require.Equal(t, installing+done, strings.Join(lines[4:], ""))
		l.requireLog(command + reboot)
	})
}

// TestFlatcarStops: another document is not installed. An image that cannot be written is tried
// three times, with the document that the machine has. The machine does not boot then.
func TestFlatcarStops(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		l := newLive(t)
		l.files[documentPath] = "another"
		printed, ok := l.boot(shell)
		require.False(t, ok)
		require.Regexp(t, "^kiln: NOT INSTALLED: URL"+documentPath+" has the SHA-256 "+
			"[0-9a-f]{64}, and kiln netboot saw SUM: run it again, kiln serve with --again, "+
			"and start this machine again\n$", printed)
		l.requireLog("")

		const failed = "kiln: flatcar-install failed, and starts again: " +
			"many lines gpg: BAD signature \n"
		l = newLive(t)
		l.write("fail", "1\n2\n", 0o600)
		printed, ok = l.boot(shell)
		require.True(t, ok, printed)
		require.Equal(t, installing+failed+failed+done, printed)
		l.requireLog(command + command + command + reboot)

		l = newLive(t)
		l.write("fail", "1\n2\n3\n", 0o600)
		printed, ok = l.boot(shell)
		require.False(t, ok)
		require.Equal(t, installing+failed+failed+"kiln: NOT INSTALLED: flatcar-install failed "+
			"three times, at last: many lines gpg: BAD signature ; mend that, and start this "+
			"machine again after kiln serve --again\n", printed)
		l.requireLog(command + command + command)
		require.Equal(t, 1, strings.Count(fmt.Sprint(l.asked), documentPath))
	})
}

// TestFlatcarOutage: a server that goes away while the disk is written is waited for, however long
// that takes: the machine has its document, and would get no other one.
func TestFlatcarOutage(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		l := newLive(t)
		l.write("fail", "1\n2\n3\n", 0o600)
		l.minutes = -10
		l.away = func(minute int) bool { return minute > -9 && minute < -3 }
		printed, ok := l.boot(shell)
		require.True(t, ok, printed)
		require.Equal(t, 5, strings.Count(printed, " is not there: curl: "), printed)
		require.Equal(t, 3, strings.Count(printed, "flatcar-install failed, and"), printed)
		require.Equal(t, 1, strings.Count(fmt.Sprint(l.asked), documentPath))
	})
}

// TestFlatcarDocument: a document that comes with the kernel is not fetched. An address of the
// image may name the architecture as iPXE does.
func TestFlatcarDocument(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		l := newLive(t)
		l.settings.Document = []byte(document)
		const path = "/images/arm64/flatcar_production_image.bin.bz2"
		l.files = map[string]string{path: "image", path + ".sig": "signature"}
		l.settings.Image = l.url + strings.Replace(path, "arm64", "${buildarch}", 1)
		printed, ok := l.boot(shell)
		require.True(t, ok, printed)
		l.requireLog(strings.Replace(command, "-V flatcar", "-V arm64", 1) + reboot)
		require.Equal(t, []string{"HEAD " + path, "HEAD " + path + ".sig"}, l.asked)
	})
}

// TestUnit has systemd read the unit.
func TestUnit(t *testing.T) {
	t.Parallel()
	analyze := need.Program(t, "systemd-analyze")
	data, err := media.Flatcar(&media.Settings{})
	require.NoError(t, err)
	var config struct {
		Systemd struct {
			Units []struct{ Name, Contents string }
		}
	}
	require.NoError(t, json.Unmarshal(data, &config))
	require.Len(t, config.Systemd.Units, 1)
	for change, want := range map[string]string{"": "", "Type=": "Typ="} {
		dir := t.TempDir()
		unit := config.Systemd.Units[0]
		text := strings.Replace(unit.Contents, "/opt/bin/kiln-install", "/bin/true", 1)
		text = strings.Replace(text, change, want, 1)
		path := filepath.Join(dir, unit.Name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		for _, name := range []string{"network-online.target", "multi-user.target"} {
			target := []byte("[Unit]\nDescription=" + name + "\n")
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), target, 0o600))
		}
		cmd := exec.Command(analyze, "--man=no", "verify", path)
		cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		if change == "" {
			require.NotContains(t, string(out), unit.Name)
		} else {
			require.Contains(t, string(out), "'Typ'")
		}
	}
}

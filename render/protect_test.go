package render_test

import (
	"bytes"
	"encoding/base64"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/pack/cloudinit"
	"kiln.dev/kiln/render/pack/compress"
)

// userData is a golden document for cloud-init, and the body that it fetches.
type userData struct {
	name        string
	node        *node.Node // the whole machine
	text        []byte     // without compression
	body        []byte     // nil if all is in the document
	bootcmd     [][]string
	writeFiles  []writtenFile
	folders     []string // of mode 0700, made by bootcmd
	touchedOnly []string // made empty by bootcmd
}

type writtenFile struct{ Path, Permissions string }

// protecting are the last words of bootcmd's command that makes files for root alone.
const protecting = "true >\"$f\" ;;\n esac\ndone"

// userDatas returns the documents of the cloud-init machines that differ.
func userDatas(t testing.TB) (docs []userData) {
	t.Helper()
	for _, name := range cases(t) {
		r := load(t, name)
		unlike := unlikeNodes(t, name)
		for i, n := range nodes(t, name) {
			m := &r.Plan.Machines[i]
			if m.System.Format != target.CloudInit || !slices.Contains(unlike, n) {
				continue
			}
			d := userData{name: name + "/" + n.Name, node: n}
			if m.Settings.Delivery.Fetches() {
				packed, err := r.Document(i)
				require.NoError(t, err)
				d.text = unzipped(t, packed.Files[0].Data)
				d.body = packed.Files[len(packed.Files)-1].Data
				require.True(t, cloudinit.IsBody(d.body))
			} else {
				var err error
				d.text, err = new(cloudinit.Packer).Pack(n, 0, false)
				require.NoError(t, err)
			}
			d.read(t)
			docs = append(docs, d)
		}
	}
	return docs
}

// unzipped returns the text of a document.
func unzipped(t testing.TB, doc []byte) []byte {
	t.Helper()
	if cloudinit.IsMessage(doc) {
		_, part, _ := bytes.Cut(doc, []byte("base64\n\n"))
		part, _, _ = bytes.Cut(part, []byte("\n"))
		var err error
		doc, err = base64.StdEncoding.DecodeString(string(part))
		require.NoError(t, err)
	}
	if bytes.HasPrefix(doc, []byte("#cloud-config\n")) {
		return doc
	}
	text, err := compress.Gunzip(doc)
	require.NoError(t, err)
	return text
}

// read reads the text, as cloud-init does, and what its commands protect.
func (d *userData) read(t testing.TB) {
	t.Helper()
	var c struct {
		Bootcmd    [][]string
		WriteFiles []writtenFile `yaml:"write_files"`
	}
	require.NoError(t, yaml.Unmarshal(d.text, &c))
	d.bootcmd, d.writeFiles = c.Bootcmd, c.WriteFiles
	d.folders, d.touchedOnly = nil, nil
	for _, words := range c.Bootcmd {
		switch {
		case strings.Join(words[:min(4, len(words))], " ") == "install -d -m 0700":
			d.folders = append(d.folders, words[len(words)-1])
		case words[0] == "sh" && strings.HasSuffix(words[2], protecting):
			d.touchedOnly = append(d.touchedOnly, words[4:]...)
		}
	}
}

// isForEverybody reports whether the file is for everybody.
func (f *writtenFile) isForEverybody() bool {
	return len(f.Permissions) == 4 && f.Permissions[2] >= '4' && f.Permissions[3] >= '4'
}

// secrets returns the paths of the machine's secrets.
func (d *userData) secrets() (paths []string) {
	for i := range d.node.Files {
		if f := &d.node.Files[i]; f.Secret != "" {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// isBelow reports whether one of the folders has the file.
func isBelow(file string, folders []string) bool {
	for dir := path.Dir(file); dir != "/"; dir = path.Dir(dir) {
		if slices.Contains(folders, dir) {
			return true
		}
	}
	return false
}

// TestProtectedFirst: bootcmd protects the path of each secret of the golden documents, by a folder
// or by an empty file. It protects no other.
func TestProtectedFirst(t *testing.T) {
	t.Parallel()
	docs := userDatas(t)
	require.Greater(t, len(docs), 25)
	inFolders, alone := 0, 0
	for i := range docs {
		d := &docs[i]
		secrets := d.secrets()
		for _, f := range d.writeFiles {
			secret := slices.Contains(secrets, f.Path)
			require.False(t, secret && f.isForEverybody(), "%s: %s", d.name, f.Path)
			touched := slices.Contains(d.touchedOnly, f.Path)
			switch {
			case !secret:
				require.False(t, touched, "%s: %s", d.name, f.Path)
			case isBelow(f.Path, d.folders):
				require.False(t, touched, "%s: %s costs bytes for nothing", d.name, f.Path)
				inFolders++
			default:
				require.True(t, touched, "%s: others could read %s", d.name, f.Path)
				alone++
			}
		}
		if d.node.Role == node.ControlPlane && d.body == nil {
			require.Contains(t, d.folders, "/etc/kubernetes/pki", d.name)
		}
	}
	require.Greater(t, inFolders, 350)
	require.Greater(t, alone, 10)
}

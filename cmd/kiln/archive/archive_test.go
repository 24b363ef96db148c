package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/lock"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/images"
	"kiln.dev/kiln/test/loopback"
)

// site is a registry with two images and a server with a program, and an archive of them.
type site struct {
	*loopback.Registry
	Options
	notes []string
}

const kubelet = "/release/v1.36.9/bin/linux/amd64/kubelet"

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{Registry: loopback.New()}
	t.Cleanup(s.Close)
	a, b := s.Image("a:1", "amd64", "arm64", "s390x"), s.Image("b/c:2", "amd64")
	s.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == kubelet {
			_, _ = io.WriteString(w, "a kubelet")
		}
		return r.URL.Path == kubelet
	}
	s.Options = Options{
		Dir: filepath.Join(t.TempDir(), "archive"), Arches: []string{"amd64"},
		Images: []Image{{Name: s.Host + "/a:1", Digest: a}, {Name: s.Host + "/b/c:2", Digest: b}},
		Programs: []target.Artifact{{
			Name: "kubelet", Version: "v1.36.9", Arch: "amd64", URL: "https://dl.k8s.io" + kubelet,
			SHA256: strings.TrimPrefix(loopback.Digest([]byte("a kubelet")), "sha256:"),
		}},
		Note: func(line string) { s.notes = append(s.notes, line) },
	}
	s.Options.Locker = lock.New(lock.Options{
		Mirror: s.URL, Registries: map[string]string{s.Host: s.URL}, Push: s.URL,
	})
	return s
}

func (s *site) make(t *testing.T) *Report {
	t.Helper()
	report, err := Make(context.Background(), s.Options)
	require.NoError(t, err)
	return report
}

// contents returns the files of a folder, by their paths.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".",
		func(name string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				var text []byte
				text, err = os.ReadFile(filepath.Join(dir, name))
				out[name] = string(text)
			}
			return err
		}))
	return out
}

// TestMake: the archive has the wanted builds of each image, the whole lists of builds, and the
// program; SHA256SUMS has all files. A second run fetches nothing, and another folder gets the same
// bytes.
func TestMake(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	got := s.make(t)
	require.Equal(t, []string{"linux/amd64"}, got.Images[0].Platforms)
	require.Equal(t, 10, got.Blobs, "an index, a manifest and two layers, twice, the "+
		"configuration that both images have, and the kubelet")
	first := contents(t, s.Dir)
	require.Equal(t, "a kubelet", first[images.ArchiveBlobs+s.Options.Programs[0].SHA256])
	require.Contains(t, first["index.json"],
		`"org.opencontainers.image.ref.name": "`+s.Host+"/a:1")
	require.Contains(t, first["index.json"], `"dev.kiln.platforms": "linux/amd64"`)
	kept, err := images.ReadMirror(os.DirFS(s.Dir))
	require.NoError(t, err)
	require.Equal(t, s.Options.Programs, kept)
	require.Equal(t, len(first)-1, strings.Count(first["SHA256SUMS"], "\n"))
	for line := range strings.Lines(first["SHA256SUMS"]) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		require.Equal(t, "sha256:"+sum, loopback.Digest([]byte(first[name])), name)
	}

	s.Asked = nil
	again := s.make(t)
	require.Empty(t, s.Asked)
	require.Zero(t, again.Fetched)
	require.Equal(t, first, contents(t, s.Dir))
	s.Dir += "2"
	s.make(t)
	require.Equal(t, first, contents(t, s.Dir))
}

// TestParts: the archive has the blobs of each build in a list, with the type and size of its
// manifest, for each architecture that is there. What is listed is there.
func TestParts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Arches = nil
	s.make(t)
	want := map[string]int{"amd64": 2, "arm64": 1, "s390x": 1}
	arches, err := os.ReadDir(filepath.Join(s.Dir, images.ArchiveParts))
	require.NoError(t, err)
	for _, arch := range arches {
		lists, err := filepath.Glob(filepath.Join(s.Dir, images.ArchiveParts, arch.Name(), "*"))
		require.NoError(t, err)
		require.Len(t, lists, want[arch.Name()], arch.Name())
		delete(want, arch.Name())
		for _, list := range lists {
			text, err := os.ReadFile(list)
			require.NoError(t, err)
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			manifest := blobs + filepath.Base(list)
			info, err := os.Stat(filepath.Join(s.Dir, manifest))
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("%s %d", loopback.Index, info.Size()), lines[0])
			require.Equal(t, manifest, lines[1], "the list comes before its build")
			require.Len(t, lines, 6, "list, manifest, configuration, two layers")
			for _, blob := range lines[1:] {
				require.FileExists(t, filepath.Join(s.Dir, blob))
			}
		}
	}
	require.Empty(t, want)
	sums, err := os.ReadFile(filepath.Join(s.Dir, images.ArchiveSums))
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(string(sums), "  "+images.ArchiveParts))
}

// TestResume: a run that is cut off leaves no index; the next one fetches only what is missing.
func TestResume(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx, cancel := context.WithCancel(context.Background())
	answer, gets := s.Answer, 0
	s.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if gets++; gets == 6 {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			cancel()
			return true
		}
		return answer(w, r)
	}
	_, err := Make(ctx, s.Options)
	require.EqualError(t, err, "interrupted; what came is kept, and the same command goes on")
	require.NoFileExists(t, filepath.Join(s.Dir, "index.json"))
	require.NoFileExists(t, filepath.Join(s.Dir, "SHA256SUMS"))
	// A kill leaves what had come of one blob.
	require.NoError(t, os.MkdirAll(filepath.Join(s.Dir, ingest), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, ingest, "x"), []byte("half"), 0o644))
	got := s.make(t)
	require.Equal(t, got.Blobs-5, got.Fetched)
	require.NoDirExists(t, filepath.Join(s.Dir, ingest))
}

// TestWrongBytes: a blob whose bytes are wrong is replaced, whatever its size. What a server sends
// wrong never gets its name, and all that is wrong is said.
func TestWrongBytes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.make(t)
	whole := contents(t, s.Dir)
	path := filepath.Join(s.Dir, images.ArchiveBlobs, s.Options.Programs[0].SHA256)
	for _, text := range []string{"a kubeleT", "a", ""} {
		require.NoError(t, os.Chmod(path, 0o644))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		s.notes = nil
		require.Equal(t, 1, s.make(t).Fetched)
		require.Equal(t, []string{images.ArchiveBlobs + s.Options.Programs[0].SHA256 +
			": has other bytes than its name says; replacing it"},
			s.notes)
		require.Equal(t, whole, contents(t, s.Dir))
	}

	s.Dir += "2"
	wrong := s.Images[1].Digest
	s.Blobs[wrong] = []byte(`{"schemaVersion": 2, "manifests": []}`)
	delete(s.Blobs, loopback.Digest([]byte("only amd64 of a:1")))
	_, err := Make(context.Background(), s.Options)
	require.ErrorContains(t, err, "image "+s.Host+"/a:1: "+s.URL+"/v2/a/blobs/sha256:")
	require.ErrorContains(t, err, "image "+s.Host+"/b/c:2: "+s.URL+"/v2/b/c/manifests/"+wrong+
		": has other bytes than those of the lock")
	require.ErrorContains(t, err, "the archive is not complete; what came is kept, and the same "+
		"command goes on")
	require.NoFileExists(t, filepath.Join(s.Dir, images.ArchiveBlobs+wrong[len("sha256:"):]))
	require.NoFileExists(t, filepath.Join(s.Dir, "index.json"))
}

// TestFrom: blobs come from an older archive, as a folder and as a tar, and nobody is asked for
// them. One that is wrong there is fetched.
func TestFrom(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.make(t)
	older := s.Dir
	file := filepath.Join(t.TempDir(), "a.tar")
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	require.NoError(t, w.AddFS(os.DirFS(older)))
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
	s.Asked = nil
	for i, from := range []string{older, file} {
		s.Dir, s.From = fmt.Sprint(older, i), []string{from}
		got := s.make(t)
		require.Equal(t, got.Blobs, got.Copied)
		require.Equal(t, contents(t, older), contents(t, s.Dir))
	}
	require.Empty(t, s.Asked)

	layer := strings.TrimPrefix(loopback.Digest([]byte("common to a:1")), "sha256:")
	blob := filepath.Join(older, images.ArchiveBlobs, layer)
	require.NoError(t, os.Chmod(blob, 0o644))
	require.NoError(t, os.WriteFile(blob, nil, 0o644))
	s.Dir, s.From = older+"3", []string{older}
	require.Equal(t, 1, s.make(t).Fetched)
	require.Contains(t, s.notes[0], "--from: sha256:"+layer+": ")
	pipe, link := filepath.Join(t.TempDir(), "pipe"), filepath.Join(t.TempDir(), "link")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Symlink(file, link))
	s.Dir, s.From = older+"4", []string{link}
	require.Zero(t, s.make(t).Fetched)
	for _, path := range []string{pipe, t.TempDir(), filepath.Join(older, "absent"), os.Args[0]} {
		s.From = []string{path}
		_, err := Make(context.Background(), s.Options)
		require.ErrorContains(t, err, "--from "+path+": ")
		require.ErrorContains(t, err, "want a folder with oci-layout, or what tar -C")
	}
}

// TestPrune: what the lock does not need any more stays, and is counted; with Prune it goes, and
// the archive is that of the lock.
func TestPrune(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.make(t)
	s.Images = s.Images[:1]
	require.Equal(t, 4, s.make(t).Left)
	sums := contents(t, s.Dir)["SHA256SUMS"]
	s.Prune = true
	require.Zero(t, s.make(t).Left)
	pruned := contents(t, s.Dir)
	require.Equal(t, sums, pruned["SHA256SUMS"])
	s.Dir += "2"
	s.make(t)
	require.Equal(t, contents(t, s.Dir), pruned)
}

// TestStrange: a folder with anything else is not touched.
func TestStrange(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"index.json": `{"schemaVersion": 2}`, "letter.txt": "dear",
	} {
		s := newSite(t)
		require.NoError(t, os.Mkdir(s.Dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o600))
		_, err := Make(context.Background(), s.Options)
		require.ErrorContains(t, err, "name another folder with --out")
		require.Equal(t, map[string]string{name: text}, contents(t, s.Dir))
		require.Empty(t, s.Asked)
	}
}

// TestLinks: nothing is written through a link in an archive, or read from a pipe.
func TestLinks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.make(t)
	digest := strings.TrimPrefix(s.Images[0].Digest, "sha256:")
	for i, name := range []string{
		"SHA256SUMS", "index.json", "oci-layout", images.LockFile, "parts/amd64/" + digest, "parts",
		"parts/amd64", "blobs", "blobs/sha256", images.ArchiveBlobs + digest, "ingest", "new",
	} {
		outside := t.TempDir()
		victim := filepath.Join(outside, "victim")
		require.NoError(t, os.WriteFile(victim, []byte("a bundle"), 0o600))
		dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
		require.NoError(t, os.CopyFS(dir, os.DirFS(s.Dir)))
		for _, make := range []func(path string) error{
			func(path string) error { return os.Symlink(victim, path) },
			func(path string) error { return os.Symlink(outside, path) },
			func(path string) error { return syscall.Mkfifo(path, 0o600) },
		} {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, name)))
			require.NoError(t, make(filepath.Join(dir, name)))
			o := s.Options
			o.Dir = dir
			_, err := Make(t.Context(), o)
			require.ErrorContains(t, err, name+": not a regular file", name)
			if name != "new" {
				o.From, o.Dir = []string{dir}, dir+"2"
				_, _ = Make(t.Context(), o)
			}
			require.Equal(t, map[string]string{"victim": "a bundle"}, contents(t, outside), name)
		}
	}
}

// TestNested: a list that names another one many times is looked at once.
func TestNested(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	d := s.Build("amd64", []byte("a layer"))
	for range 40 {
		text, err := json.Marshal(map[string]any{
			"schemaVersion": 2, "manifests": []loopback.Descriptor{d, d},
		})
		require.NoError(t, err)
		platform := d.Platform
		d = s.Add(loopback.Index, text)
		d.Platform = platform
	}
	s.Images = []Image{{Name: s.Host + "/x:1", Digest: d.Digest}}
	require.Equal(t, []string{"linux/amd64"}, s.make(t).Images[0].Platforms)
}

// TestLayoutIsNotRead: an index of any size in another layout takes no memory.
func TestLayoutIsNotRead(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.make(t)
	s.From, s.Dir = []string{s.Dir}, s.Dir+"2"
	require.NoError(t, os.Truncate(filepath.Join(s.From[0], "index.json"), 1<<40))
	require.Zero(t, s.make(t).Fetched)
	s.Dir = s.From[0]
	_, err := Make(t.Context(), s.Options)
	require.ErrorContains(t, err, "index.json: larger than 4 MiB")
}

// TestHostileImage: what a manifest may not say.
func TestHostileImage(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, want string }{
		"no JSON":    {"<html>", "is no manifest"},
		"neither":    {"{}", "is neither an image nor a list of images"},
		"a path":     {`{"config": {"digest": "sha256:../../x"}}`, `names a part "sha256:../../x"`},
		"no sha256":  {`{"config": {"digest": "md5:1"}}`, `names a part "md5:1"`},
		"large":      {`{"manifests": [{"digest": "D", "size": 9999999}]}`, "of 9999999 bytes"},
		"many":       {`{"manifests": [` + strings.Repeat("{},", 60000) + `{}]}`, "50000 objects"},
		"no build":   {`{"manifests": []}`, "has no build that a machine of the cluster runs"},
		"other size": {`{"config": {"digest": "D", "size": 1}}`, "has more than 1 bytes"},
	} {
		s := newSite(t)
		d := s.Add(loopback.Index, []byte(strings.ReplaceAll(row.text, "D", s.Images[0].Digest)))
		s.Images = []Image{{Name: s.Host + "/x:1", Digest: d.Digest}}
		_, err := Make(context.Background(), s.Options)
		require.ErrorContains(t, err, row.want, name)
	}
}

// TestPush: a registry gets all images under their names, and nothing twice. The rows for machines
// lead there.
func TestPush(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.make(t)
	to := loopback.New()
	t.Cleanup(to.Close)
	s.Options.Locker = lock.New(lock.Options{Push: to.URL})
	rows, err := Push(context.Background(), &s.Options, to.Host+"/k8s")
	require.NoError(t, err)
	below := strings.Replace(s.Host, ":", "-", 1)
	require.Equal(t, []config.Registry{
		{Host: s.Host, Mirrors: []string{to.URL + "/v2/k8s/" + below}},
	}, rows)
	require.Equal(t, map[string]string{
		"k8s/" + below + "/a:1":   s.Images[0].Digest,
		"k8s/" + below + "/b/c:2": s.Images[1].Digest,
	}, to.Tags)
	require.Len(t, to.Blobs, 9, "all but the kubelet, and the builds that nobody wanted")
	to.Asked = nil
	_, err = Push(context.Background(), &s.Options, to.Host+"/k8s")
	require.NoError(t, err)
	require.Zero(t, to.Count("PUT", "/blobs/"))
	require.Zero(t, to.Count("POST", ""))
}

// TestPushRefused: what a registry refuses is said with the remedy, for all images, and without
// what a request had.
func TestPushRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.make(t)
	to := loopback.New()
	t.Cleanup(to.Close)
	s.Options.Locker = lock.New(lock.Options{
		Push: to.URL, Registries: map[string]string{s.Host: s.URL},
	})
	to.Whole = true
	_, err := Push(context.Background(), &s.Options, to.Host)
	require.ErrorContains(t, err, "make the archive with --all-platforms")
	s.Arches = nil
	require.Len(t, s.make(t).Images[0].Platforms, 3)
	_, err = Push(context.Background(), &s.Options, to.Host)
	require.NoError(t, err)

	to.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	_, err = Push(context.Background(), &s.Options, to.Host)
	require.ErrorContains(t, err, "the registry says 403, and wants a login that may push")
	require.Len(t, strings.Split(err.Error(), "\n"), 2)
	to.Close()
	_, err = Push(context.Background(), &s.Options, to.Host)
	require.ErrorContains(t, err, "connection refused")
	require.NotContains(t, err.Error(), "/v2/")
}

// TestLogin: kiln logs in with what podman login has stored, to fetch and to push, and shows it
// nowhere.
func TestLogin(t *testing.T) {
	s := newSite(t)
	login := base64.StdEncoding.EncodeToString([]byte("me:secret"))
	file := filepath.Join(t.TempDir(), "auth.json")
	require.NoError(t, os.WriteFile(file,
		[]byte(fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, s.Host, login)), 0o600))
	t.Setenv("REGISTRY_AUTH_FILE", file)
	answer, refuse := s.Answer, false
	s.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/v2/") &&
			(refuse || r.Header.Get("Authorization") != "Basic "+login) {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return answer(w, r)
	}
	s.make(t)
	_, err := Push(context.Background(), &s.Options, s.Host+"/copy")
	require.NoError(t, err)
	require.Len(t, s.Tags, 4)
	refuse = true
	_, err = Push(context.Background(), &s.Options, s.Host+"/other")
	require.ErrorContains(t, err, "login")
	for _, text := range append(s.notes, err.Error()) {
		require.NotContains(t, text, "secret")
		require.NotContains(t, text, login)
	}
}

// TestDisk: when the disk takes no more, the run ends, and says so once.
func TestDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.NoError(t, os.Mkdir(s.Dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "blobs"), nil, 0o600))
	_, err := Make(context.Background(), s.Options)
	require.ErrorContains(t, err, "not a directory")
	require.Len(t, strings.Split(err.Error(), "\n"), 2)
}

// TestMemory: the memory that an archive needs does not grow with its blobs, also when they are
// checked and copied.
func TestMemory(t *testing.T) {
	const size = 300 << 20
	s := newSite(t)
	layer := make([]byte, size)
	_, _ = rand.Read(layer)
	text, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "manifests": []loopback.Descriptor{s.Build("amd64", layer)},
	})
	require.NoError(t, err)
	s.Images = []Image{{Name: s.Host + "/big:1", Digest: s.Add(loopback.Index, text).Digest}}
	var most uint64
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
				return
			case <-time.After(10 * time.Millisecond):
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				most = max(most, now.Sys)
			}
		}
	}()
	s.make(t)
	require.Zero(t, s.make(t).Fetched)
	s.From, s.Dir = []string{s.Dir}, s.Dir+"2"
	require.Zero(t, s.make(t).Fetched)
	close(ended)
	<-done
	grown := int64(most) - int64(before.Sys)
	t.Logf("a layer of %d MiB: %d KiB more", size>>20, grown>>10)
	require.Less(t, grown, int64(64<<20))
}

// TestWanted: an image has the name that the lock has for it, also where pods name it by its digest
// alone.
func TestWanted(t *testing.T) {
	t.Parallel()
	digest := "@sha256:" + strings.Repeat("1", 64)
	got := Wanted([]images.Image{
		{Reference: "registry.k8s.io/pause" + digest}, {Reference: "nginx:1.29" + digest},
		{Reference: "quay.io/own" + digest}, {Reference: "quay.io/tagged:1" + digest},
	}, []target.Image{
		{Name: "nginx:1.29", Digest: digest[1:]},
		{Name: "registry.k8s.io/pause:3.10.2", Digest: digest[1:]},
	})
	var names []string
	for _, image := range got {
		names = append(names, image.Name)
		require.Equal(t, digest[1:], image.Digest)
	}
	require.Equal(t, []string{
		"docker.io/library/nginx:1.29", "quay.io/own" + digest, "quay.io/tagged:1",
		"registry.k8s.io/pause:3.10.2",
	}, names)
	require.Equal(t, "org.opencontainers.image.ref.name", ocispec.AnnotationRefName)
}

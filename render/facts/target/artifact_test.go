package target

import (
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestArtifacts: the table has what every machine fetches, for each processor, and each minor has a
// kubelet.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	has := func(name, version, arch string) bool {
		return slices.ContainsFunc(PublishedArtifacts, func(a Artifact) bool {
			return a.Name == name && a.Version == version && a.Arch == arch
		})
	}
	seen := map[Artifact]bool{}
	sums := map[string]bool{}
	for _, a := range PublishedArtifacts {
		key := Artifact{Name: a.Name, Version: a.Version, Arch: a.Arch}
		require.False(t, seen[key], "%v is there twice", key)
		require.False(t, sums[a.SHA256], "%v has the SHA-256 of another file", key)
		seen[key], sums[a.SHA256] = true, true
		require.Regexp(t, `^[0-9a-f]{64}$`, a.SHA256)
		require.Regexp(t, `^v[0-9.]+$`, a.Version)
		u, err := url.Parse(a.URL)
		require.NoError(t, err)
		require.Equal(t, "https", u.Scheme)
		require.NotContains(t, a.URL, "{")
		require.Contains(t, a.URL, strings.TrimPrefix(a.Version, "v"))
		require.Contains(t, a.URL, a.Arch)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		for _, p := range versioned() {
			require.True(t, has(p.Name, p.Version, arch), "%s %s %s", p.Name, p.Version, arch)
		}
		for _, r := range Releases {
			prefix := "v1." + string(rune('0'+r.Minor/10)) + string(rune('0'+r.Minor%10)) + "."
			require.True(t, slices.ContainsFunc(PublishedArtifacts, func(a Artifact) bool {
				return a.Name == "kubelet" && a.Arch == arch && strings.HasPrefix(a.Version, prefix)
			}), "no kubelet of %s for %s", prefix, arch)
		}
	}
}

// versioned returns the programs that have a version of their own.
func versioned() []Program {
	without := func(p Program) bool { return p.Version == "" }
	return slices.DeleteFunc(slices.Clone(Programs), without)
}

// TestExtensions: an extension is found by systemd, and its project says what it has.
func TestExtensions(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"flatcar", "fedora-coreos", "microos"}, ExtendedSystems())
	require.Empty(t, ProgramsOf("", "flatcar"))
	require.Empty(t, ProgramsOf(SourceSysext, "debian"))
	require.Len(t, ProgramsOf(SourceDownload, "flatcar"), 5)
	for _, name := range ExtendedSystems() {
		list := ProgramsOf(SourceSysext, name)
		require.Len(t, list, 1)
		p := list[0]
		require.Equal(t, "kubernetes-"+name, p.Name)
		require.Equal(t, "/var/lib/extensions", path.Dir(p.Path))
		require.Equal(t, p.URL == "", p.Sums == "")
		s, ok := SystemNamed(name)
		require.True(t, ok)
		require.True(t, s.CanWrite(p.Path))
	}
	p, _ := ProgramNamed("kubernetes-flatcar")
	require.Equal(t, "https://extensions.flatcar.org/extensions/kubernetes-v1.36.3-x86-64.raw",
		p.At(p.URL, "v1.36.3", "amd64"))
	require.Equal(t, "https://extensions.flatcar.org/extensions/kubernetes-v1.36.3-arm64.raw",
		p.At(p.URL, "v1.36.3", "arm64"))
	p, _ = ProgramNamed("kubernetes-fedora-coreos")
	require.Equal(t, "/var/lib/extensions/kubernetes-1.36.raw", p.At(p.Path, "v1.36.3", "amd64"))
}

// TestArtifactsDoc: docs/binaries.md has the versions of the table, and says where they go.
func TestArtifactsDoc(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/binaries.md")
	require.NoError(t, err)
	page := strings.Join(strings.Fields(string(text)), " ")
	list := regexp.MustCompile(`these versions: kubelet (.*?), and of the others`).
		FindStringSubmatch(page)
	require.NotNil(t, list)
	var versions []string
	for _, a := range PublishedArtifacts {
		if a.Name == "kubelet" && a.Arch == "amd64" {
			versions = append(versions, a.Version)
		}
	}
	last := len(versions) - 1
	require.Equal(t, strings.Join(versions[:last], ", ")+" and "+versions[last], list[1])
	source, err := os.ReadFile("../../config/types_machine.go")
	require.NoError(t, err)
	for _, p := range versioned() {
		require.Contains(t, string(source), p.Version+" if it is not set", p.Name)
	}
	for _, p := range Programs {
		host, _, _ := strings.Cut(strings.TrimPrefix(p.URL, "https://"), "/")
		require.Contains(t, page, host)
		require.Contains(t, page, "`"+p.Path[:strings.LastIndex(p.Path, "/")]+"`")
	}
}

// TestMirrored: a mirror takes the place of scheme and host, and the path stays as it is.
func TestMirrored(t *testing.T) {
	t.Parallel()
	for _, row := range [][3]string{
		{"https://dl.k8s.io/release/kubelet", "", "https://dl.k8s.io/release/kubelet"},
		{"https://dl.k8s.io/a/kubelet", "http://10.0.0.5/k8s", "http://10.0.0.5/k8s/a/kubelet"},
		{"https://example.com:8443/a%20b", "https://m", "https://m/a%20b"},
	} {
		require.Equal(t, row[2], Mirrored(row[0], row[1]))
	}
}

package iso9660

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/need"
)

// seed is a form of image that kiln writes; deep has what no form of kiln has.
var (
	seed = []File{
		{"user-data", []byte("#cloud-config\n")},
		{"meta-data", []byte("instance-id: kiln-cp-1\n")},
		{"network-config", nil},
	}
	deep = func() []File {
		files := []File{
			{"openstack/latest/user_data", bytes.Repeat([]byte("0123456789abcdef"), 1000)},
			{"ignition/config.ign", []byte("{}")},
			{"a/b/c/d/e/f/leaf", []byte("leaf\n")},
		}
		for i := range 60 { // more records than a sector holds
			name := fmt.Sprintf("many/file-number-%02d.with-suffix", i)
			files = append(files, File{name, []byte{byte(i)}})
		}
		return files
	}()
)

// write writes an image, and returns its path.
func write(t *testing.T, label string, files []File) string {
	t.Helper()
	data, err := Image(label, files)
	require.NoError(t, err)
	require.Zero(t, len(data)%sector)
	path := filepath.Join(t.TempDir(), "image.iso")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

// output runs a program and returns what it prints. It skips the test if the program is not here.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(need.Program(t, name), args...).Output()
	if exit, ok := err.(*exec.ExitError); ok {
		t.Fatalf("%s: %v: %s", name, err, exit.Stderr)
	}
	require.NoError(t, err)
	return string(out)
}

// TestIsoinfo reads all three kinds of names with the program of another project.
func TestIsoinfo(t *testing.T) {
	t.Parallel()
	path := write(t, "cidata", seed)
	about := output(t, "isoinfo", "-d", "-i", path)
	for _, line := range []string{
		"Volume id: cidata\n", "Data preparer id: KILN\n", "Logical block size is: 2048\n",
		"Joliet with UCS level 3 found", "Rock Ridge signatures version 1 found",
	} {
		require.Contains(t, about, line)
	}
	require.Equal(t, "/META_DATA.;1\n/NETWORK_CONFIG.;1\n/USER_DATA.;1\n",
		output(t, "isoinfo", "-f", "-i", path))
	for _, tree := range []string{"-R", "-J"} {
		require.Equal(t, "/meta-data\n/network-config\n/user-data\n",
			output(t, "isoinfo", tree, "-f", "-i", path))
		for _, f := range seed {
			got := output(t, "isoinfo", tree, "-x", "/"+f.Path, "-i", path)
			require.Equal(t, string(f.Data), got, f.Path)
		}
	}
	require.Contains(t, output(t, "isoinfo", "-R", "-l", "-i", path),
		"-r--------   1    0    0              14 Jan  1 1980")

	path = write(t, "config-2", deep)
	for _, tree := range []string{"-R", "-J"} {
		for _, f := range deep {
			got := output(t, "isoinfo", tree, "-x", "/"+f.Path, "-i", path)
			require.Equal(t, string(f.Data), got, f.Path)
		}
	}
	// The program finds folders by the path table too, and prints it.
	require.Contains(t, output(t, "isoinfo", "-p", "-i", path), "OPENSTACK")
}

// TestLibarchive unpacks an image with the library that BSD, macOS and CMake read images with.
func TestLibarchive(t *testing.T) {
	t.Parallel()
	for _, files := range [][]File{seed, deep} {
		path, dir := write(t, "cidata", files), t.TempDir()
		// A user could neither unpack into folders without the right to write, nor remove them.
		output(t, "bsdtar", "-x", "--no-same-permissions", "-C", dir, "-f", path)
		t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", dir).Run() })
		require.Equal(t, byPath(files), readDir(t, dir))
	}
}

// TestMount has Linux mount an image, as cloud-init and Ignition do, and blkid read its label, as
// udev does.
func TestMount(t *testing.T) {
	t.Parallel()
	for _, files := range [][]File{seed, deep} {
		path, dir := write(t, "config-2", files), t.TempDir()
		if need.Has(t, "blkid") {
			require.Equal(t, "config-2\niso9660\n",
				output(t, "blkid", "-p", "-o", "value", "-s", "LABEL", "-s", "TYPE", path))
		}
		need.Right(t, need.ImageMount)
		mount := exec.Command("mount", "-o", "ro,loop", "-t", "auto", path, dir)
		out, err := mount.CombinedOutput()
		require.NoError(t, err, "%s", out)
		got := readDir(t, dir)
		info, err := os.Stat(filepath.Join(dir, files[0].Path))
		require.NoError(t, exec.Command("umount", dir).Run())
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o400), info.Mode())
		require.Equal(t, byPath(files), got)
	}
}

// byPath returns the contents of files by their paths.
func byPath(files []File) map[string]string {
	out := map[string]string{}
	for _, f := range files {
		out[f.Path] = string(f.Data)
	}
	return out
}

// readDir returns the contents of the files in a folder by their paths.
func readDir(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	collect := func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			data, err := os.ReadFile(filepath.Join(dir, path))
			out[path] = string(data)
			return err
		}
		return err
	}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", collect))
	return out
}

// TestStable: an image is the same whenever and wherever it is made. A change of the layout changes
// the sum below.
func TestStable(t *testing.T) {
	t.Parallel()
	data, err := Image("cidata", seed)
	require.NoError(t, err)
	sum := sha256.Sum256(data)
	require.Equal(t, "cc48ed6a34a66bd3a816a5d65fb70724ef31f4595acbc3fae82db8582600557f",
		hex.EncodeToString(sum[:]))
	require.True(t, Made(data[:HeadSize]))
	require.False(t, Made(data[:HeadSize-1]))
	require.False(t, Made(bytes.Replace(data, []byte(preparer), []byte("ELSE"), 1)))
	require.False(t, Made(make([]byte, HeadSize)))
}

func TestRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 32)
	for _, row := range []struct {
		name, label string
		files       []File
		want        string
	}{
		{"no label", "", seed, `label "": not a name`},
		{"long label", strings.Repeat("x", 17), seed, "longer than 16 characters"},
		{"label of other letters", "größe", seed, "want letters"},
		{"twice", "cidata", []File{{"a", nil}, {"a", nil}}, `file "a": the path is used twice`},
		{
			"a file as a folder", "cidata", []File{{"a", nil}, {"a/b", nil}},
			`file "a/b": the path is used twice`,
		},
		{
			"a folder as a file", "cidata", []File{{"a/b", nil}, {"a", nil}},
			`file "a": the path is used twice`,
		},
		{"upwards", "cidata", []File{{"../a", nil}}, `file "../a": not a name`},
		{"absolute", "cidata", []File{{"/a", nil}}, `file "/a": not a name`},
		{"long name", "cidata", []File{{long, nil}}, "longer than 31 characters"},
		{"two dots", "cidata", []File{{"a.tar.gz", nil}}, "one dot at most"},
		{"deep", "cidata", []File{{"1/2/3/4/5/6/7/8", nil}}, "deeper than 7 folders"},
		{"many", "cidata", make([]File, maxFiles+1), "4097 files are more than 4096"},
		{
			"equal without case", "cidata", []File{{"d/user-data", nil}, {"d/user_data", nil}},
			`files "user-data" and "user_data" have the same plain name, USER_DATA.;1`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := Image(row.label, row.files)
			require.ErrorContains(t, err, row.want)
		})
	}
}

package config

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"strconv"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

// ReadLock reads the lock of the configuration path from dir; nil if there is none, or Problems.
func ReadLock(path string, dir fs.FS) (*Locked, error) {
	locked, problems := readLock(path, dir)
	if len(problems) > 0 {
		return nil, problems
	}
	return locked, nil
}

// IsLock reports whether the bytes of the file path are a lock without problems.
func IsLock(path string, data []byte) bool {
	_, problems := parseLock(data, &reporter{file: path})
	return len(problems) == 0
}

// readLock reads the lock of a configuration; nil if there is none.
func readLock(config string, dir fs.FS) (*Locked, Problems) {
	if dir == nil {
		return nil, nil
	}
	full := LockPath(config)
	r := &reporter{file: full}
	info, err := fs.Stat(dir, path.Base(full))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var data []byte
	if err == nil {
		data, err = readFile(dir, path.Base(full), info, maxText)
	}
	if err != nil {
		r.add(0, 0, "", "cannot be read: "+reason(err))
		return nil, r.problems()
	}
	if len(bytes.TrimSpace(data)) == 0 {
		r.add(0, 0, "", "is empty; remove it, and kiln lock writes it")
		return nil, r.problems()
	}
	return parseLock(data, r)
}

// parseLock turns the bytes of a lock into what it has, or into everything that is wrong with it.
func parseLock(data []byte, r *reporter) (*Locked, Problems) {
	root := readDocument(data, r)
	if root == nil {
		return nil, r.problems()
	}
	r.root = root
	var lock Lock
	at, _ := locations()
	d := decoder{reporter: r}
	if !isOurs(root, d, at, reflect.TypeFor[Lock]()) {
		return nil, r.problems()
	}
	d.value(root, reflect.ValueOf(&lock).Elem(), nil, at)
	out := &Locked{
		Artifacts: r.lockedArtifacts(lock.Artifacts, at.Key("artifacts")),
		Images:    r.lockedImages(lock.Images, at.Key("images")),
	}
	return out, r.problems()
}

func (r *reporter) lockedArtifacts(
	list []LockedArtifact, at *yamltext.Location,
) (out []target.Artifact) {
	seen, sums := map[string]int{}, map[string]int{}
	for i, entry := range list {
		here := at.Index(i)
		r.lockedArtifact(&entry, here)
		a := target.Artifact{
			Name: entry.Name, Version: entry.Version, Arch: entry.Arch,
			URL: entry.URL, SHA256: entry.SHA256, Size: int64(entry.Size),
		}
		if first, ok := seen[a.String()]; ok && a.Name != "" && a.Version != "" && a.Arch != "" {
			r.report(here, "%s is already artifacts[%d]; remove one", a, first)
			continue
		}
		seen[a.String()] = i
		if first, ok := sums[a.SHA256]; ok && target.IsSHA256(a.SHA256) {
			// The hook takes files with one SHA-256 for one file.
			r.report(here.Key("sha256"), "is also that of artifacts[%d]; correct one", first)
		}
		sums[a.SHA256] = i
		out = append(out, a)
	}
	return out
}

// lockedImages checks the images of a lock, and returns them; nil if the lock has no list of them.
func (r *reporter) lockedImages(
	list []LockedImage, at *yamltext.Location,
) (out []target.Image) {
	if list == nil {
		return nil
	}
	out = make([]target.Image, 0, len(list))
	seen := map[string]int{}
	for i, entry := range list {
		here := at.Index(i)
		switch {
		case entry.Name == "": // the decoder has reported it
		case !IsImageName(entry.Name):
			r.report(here.Key("name"), "%s is not the name of an image; write it as the pod does, "+
				"without a digest", quote(entry.Name))
		}
		if entry.Digest != "" && !target.IsDigest(entry.Digest) {
			r.report(here.Key("digest"), "%s is not a digest; write sha256: and its 64 "+
				"hexadecimal digits, in lower case", quoteHash(entry.Digest))
		}
		if first, ok := seen[entry.Name]; ok && entry.Name != "" {
			r.report(here, "%s is already images[%d]; remove one", entry.Name, first)
			continue
		}
		seen[entry.Name] = i
		out = append(out, target.Image{Name: entry.Name, Digest: entry.Digest})
	}
	return out
}

// hexadecimal matches what a mistyped SHA-256 or digest may be, short enough for a message.
var hexadecimal = regexp.MustCompile(`^(sha256:)?[0-9A-Fa-f]{1,80}$`)

// quoteHash quotes what should be a hash. A hash is public, so all of it is shown.
func quoteHash(text string) string {
	if hexadecimal.MatchString(text) {
		return strconv.Quote(text)
	}
	return quote(text)
}

func (r *reporter) lockedArtifact(a *LockedArtifact, at *yamltext.Location) {
	if problem := artifactVersionProblem(a.Version); a.Version != "" && problem != "" {
		r.report(at.Key("version"), "%s", problem)
	}
	if a.URL != "" {
		if problem := artifactURLProblem(a.URL); problem != "" {
			r.report(at.Key("url"), "%s", problem)
		}
	}
	if a.SHA256 != "" && !target.IsSHA256(a.SHA256) {
		r.report(at.Key("sha256"), "%s is not a SHA-256; write its 64 hexadecimal digits, "+
			"in lower case", quoteHash(a.SHA256))
	}
	if a.Size < 0 {
		r.report(at.Key("size"), "%d is negative; write the size in bytes", a.Size)
	}
}

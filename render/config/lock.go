package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"kiln/render/target"
	"kiln/render/yamlpath"
)

// ReadLock reads the lock of the configuration in the file path, from the folder dir; nil if there
// is none. The error is of type Problems.
func ReadLock(path string, dir fs.FS) ([]target.Artifact, error) {
	artifacts, problems := readLock(path, dir)
	if len(problems) > 0 {
		return nil, problems
	}
	return artifacts, nil
}

// IsLock reports whether the bytes of the file path are a lock without problems.
func IsLock(path string, data []byte) bool {
	_, problems := parseLock(data, &reporter{file: path})
	return len(problems) == 0
}

// EncodeLock returns the bytes of a lock.
func EncodeLock(artifacts []target.Artifact) []byte {
	var b strings.Builder
	b.WriteString("# What machines fetch at their first boot. kiln lock writes this file; commit " +
		"it.\napiVersion: " + APIVersion + "\nkind: " + KindLock + "\nartifacts:")
	if len(artifacts) == 0 {
		b.WriteString(" []\n")
		return []byte(b.String())
	}
	b.WriteString("\n")
	for _, a := range artifacts {
		fmt.Fprintf(&b, "- name: %s\n  version: %q\n  arch: %s\n  url: %q\n  sha256: %q\n",
			a.Name, a.Version, a.Arch, a.URL, a.SHA256)
		if a.Size > 0 {
			fmt.Fprintf(&b, "  size: %d\n", a.Size)
		}
	}
	return []byte(b.String())
}

// readLock reads the lock of a configuration; nil if there is none. The problems are those of the
// lock.
func readLock(config string, dir fs.FS) ([]target.Artifact, Problems) {
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
		data, err = readFile(dir, path.Base(full), info)
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

// parseLock turns the bytes of a lock into its artifacts, or into everything that is wrong with it.
func parseLock(data []byte, r *reporter) ([]target.Artifact, Problems) {
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
	// Not nil: with an empty lock machines may fetch nothing, without one what kiln's table has.
	out := make([]target.Artifact, 0, len(lock.Artifacts))
	seen, sums := map[string]int{}, map[string]int{}
	for i, entry := range lock.Artifacts {
		here := at.Key("artifacts").Index(i)
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
	return out, r.problems()
}

// hexadecimal matches what a mistyped SHA-256 may be, short enough for a message.
var hexadecimal = regexp.MustCompile(`^[0-9A-Fa-f]{1,80}$`)

// lockedArtifact checks one entry of a lock.
func (r *reporter) lockedArtifact(a *LockedArtifact, at *yamlpath.Location) {
	if problem := artifactVersionProblem(a.Version); a.Version != "" && problem != "" {
		r.report(at.Key("version"), "%s", problem)
	}
	if a.URL != "" {
		if problem := artifactURLProblem(a.URL); problem != "" {
			r.report(at.Key("url"), "%s", problem)
		}
	}
	if a.SHA256 != "" && !target.IsSHA256(a.SHA256) {
		shown := quote(a.SHA256)
		if hexadecimal.MatchString(a.SHA256) {
			shown = strconv.Quote(a.SHA256) // a hash is public
		}
		r.report(at.Key("sha256"), "%s is not a SHA-256; write its 64 hexadecimal digits, "+
			"in lower case", shown)
	}
	if a.Size < 0 {
		r.report(at.Key("size"), "%d is negative; write the size in bytes", a.Size)
	}
}

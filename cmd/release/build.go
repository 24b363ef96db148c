package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// entry is a file of an archive.
type entry struct {
	path string
	mode int64
	data []byte
}

// Where common files lie in an archive. A package for Debian has them elsewhere.
const (
	manPages    = "man/"
	completions = "completions/"
)

// addCommon makes what lies beside each program: man pages, completions, licenses, the schema.
func (m *maker) addCommon() error {
	pages := filepath.Join(m.work, "man")
	// In a test the package has its import path, and is not called main.
	stamp := "-X " + m.module + "/cmd/kiln.version=" + m.version
	if _, err := m.run("go", "test", "-count=1", "-trimpath", "-ldflags", stamp, "./cmd/kiln",
		"-run", "TestMan", "-args", "-man", pages); err != nil {
		return err
	}
	program, err := m.build(runtime.GOOS + "/" + runtime.GOARCH)
	if err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(pages, "*"))
	if err != nil {
		return err
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		m.common = append(m.common, entry{manPages + filepath.Base(name), 0o644, data})
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(m.source, name))
		if err != nil {
			return err
		}
		m.common = append(m.common, entry{name, 0o644, data})
	}
	for _, row := range []struct{ path, words string }{
		{"LICENSES-OF-MODULES", "version --licenses"},
		{"cluster.schema.json", "schema"},
		{completions + "kiln.bash", "completion bash"},
		{completions + "_kiln", "completion zsh"},
		{completions + "kiln.fish", "completion fish"},
	} {
		data, err := m.runWith(nil, program, strings.Fields(row.words)...)
		if err != nil {
			return err
		}
		m.common = append(m.common, entry{row.path, 0o644, data})
		if row.path == "cluster.schema.json" {
			if err := os.WriteFile(filepath.Join(m.out, row.path), data, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// build returns the path of the program for a platform, with the commit in it. It is built once.
func (m *maker) build(platform string) (path string, err error) {
	path = filepath.Join(m.work, m.base(platform))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	_, err = m.runWith(environment(platform), "go", "build", "-trimpath", "-buildvcs=true",
		"-ldflags", "-s -w -X main.version="+m.version, "-o", path, "./cmd/kiln")
	return path, err
}

// environment returns the variables by which Go builds for a platform.
func environment(platform string) []string {
	system, arch, _ := strings.Cut(platform, "/")
	return []string{"GOOS=" + system, "GOARCH=" + arch}
}

// addPrograms builds the program of each platform, and packs it.
func (m *maker) addPrograms(only []string) error {
	programs := map[string][]byte{}
	hashes := map[string]string{}
	for _, platform := range only {
		path, err := m.build(platform)
		if err != nil {
			return err
		}
		program, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		programs[platform] = program
		if hashes[platform], err = m.addArchive(m.base(platform), program); err != nil {
			return err
		}
		if err := m.addMaterials(platform); err != nil {
			return err
		}
		if arch, linux := strings.CutPrefix(platform, "linux/"); linux {
			if err := m.addDeb(arch, path); err != nil {
				return err
			}
		}
	}
	if err := m.addImage(programs); err != nil {
		return err
	}
	return m.addFormula(hashes)
}

// addMaterials writes the bill of materials of a program: the modules that are in it, with their
// licenses and hashes. The bill has the hash of the program that wrote it, too.
func (m *maker) addMaterials(platform string) error {
	tool := filepath.Join(m.work, "cyclonedx-gomod")
	if _, err := os.Stat(tool); err != nil {
		if _, err := m.run("go", "build", "-trimpath", "-buildvcs=false",
			"-modfile=cmd/release/go.mod", "-o", tool,
			"github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod"); err != nil {
			return err
		}
	}
	_, err := m.runWith(environment(platform), tool, "app", "-json", "-licenses", "-std",
		"-noserial", "-notimestamp", "-main", "cmd/kiln",
		"-output", filepath.Join(m.out, m.base(platform)+".cdx.json"), m.source)
	return err
}

// zipped returns data as gzip writes it without a name and a time.
func zipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

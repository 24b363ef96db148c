package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
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
	program := filepath.Join(m.work, "kiln")
	// In a test the package has its import path, and is not called main.
	stamp := "-X " + m.module + "/cmd/kiln.version=" + m.version
	if _, err := m.run("go", "test", "-count=1", "-trimpath", "-ldflags", stamp, "./cmd/kiln",
		"-run", "TestMan", "-args", "-man", pages); err != nil {
		return err
	}
	if err := m.build(nil, program); err != nil {
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

// build builds the program for the platform of the environment, with the commit in it.
func (m *maker) build(env []string, path string) error {
	_, err := m.runWith(env, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags",
		"-s -w -X main.version="+m.version, "-o", path, "./cmd/kiln")
	return err
}

// addPrograms builds the program of each platform, and packs it.
func (m *maker) addPrograms(only []string) error {
	programs := map[string][]byte{}
	hashes := map[string]string{}
	for _, platform := range only {
		system, arch, _ := strings.Cut(platform, "/")
		env := []string{"GOOS=" + system, "GOARCH=" + arch}
		path := filepath.Join(m.work, "kiln-"+system+"-"+arch)
		if err := m.build(env, path); err != nil {
			return err
		}
		program, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		programs[platform] = program
		base := "kiln_" + m.number() + "_" + system + "_" + arch
		if hashes[platform], err = m.addArchive(base, program); err != nil {
			return err
		}
		if err := m.addMaterials(base, env); err != nil {
			return err
		}
		if system == "linux" {
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
func (m *maker) addMaterials(base string, env []string) error {
	tool := filepath.Join(m.work, "cyclonedx-gomod")
	if _, err := os.Stat(tool); err != nil {
		if _, err := m.run("go", "build", "-trimpath", "-buildvcs=false",
			"-modfile=cmd/release/go.mod", "-o", tool,
			"github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod"); err != nil {
			return err
		}
	}
	_, err := m.runWith(env, tool, "app", "-json", "-licenses", "-std", "-noserial", "-notimestamp",
		"-main", "cmd/kiln", "-output", filepath.Join(m.out, base+".cdx.json"), m.source)
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

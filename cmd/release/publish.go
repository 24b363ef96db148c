package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// formula is the Homebrew formula, of which a publisher's tap takes a copy.
var formula = template.Must(template.New("").Parse(`class Kiln < Formula
  desc "Offline renderer for Kubernetes machines"
  homepage "{{.Homepage}}"
  version "{{.Number}}"
  license "Apache-2.0"
{{range $system, $archives := .Systems}}
  on_{{$system}} do
{{- range $archives}}
    on_{{.Processor}} do
      url "{{$.URL}}/{{.Name}}"
      sha256 "{{.SHA256}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "kiln"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/kiln.bash" => "kiln"
    zsh_completion.install "completions/_kiln"
    fish_completion.install "completions/kiln.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kiln version")
  end
end
`))

// addFormula writes the formula for the archives with these hashes, by their platforms.
func (m *maker) addFormula(hashes map[string]string) error {
	type archive struct{ Processor, Name, SHA256 string }
	systems := map[string][]archive{}
	brew := map[string]string{"darwin": "macos", "linux": "linux", "amd64": "intel", "arm64": "arm"}
	for _, platform := range platforms {
		if hashes[platform] == "" {
			continue
		}
		system, arch, _ := strings.Cut(platform, "/")
		systems[brew[system]] = append(systems[brew[system]],
			archive{brew[arch], m.base(platform) + ".tar.gz", hashes[platform]})
	}
	var b bytes.Buffer
	if err := formula.Execute(&b, struct {
		Number, Homepage, URL string
		Systems               map[string][]archive
	}{m.number(), homepage, releases + "/" + m.version, systems}); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(m.out, "kiln.rb"), b.Bytes(), 0o644)
}

// addModule writes what a module proxy hands out of this version, for go install. The list of all
// versions is the server's.
func (m *maker) addModule() error {
	version := module.Version{Path: m.module, Version: m.version}
	escaped, err := module.EscapePath(m.module)
	if err != nil {
		return err
	}
	dir := filepath.Join(m.out, "go", escaped, "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var source bytes.Buffer
	if err := zip.CreateFromVCS(&source, version, m.source, m.commit, ""); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{m.version, m.date})
	if err != nil {
		return err
	}
	requirements, err := os.ReadFile(filepath.Join(m.source, "go.mod"))
	if err != nil {
		return err
	}
	for suffix, data := range map[string][]byte{
		".info": info, ".mod": requirements, ".zip": source.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, m.version+suffix), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sumsName is the file with the hashes of all others.
const sumsName = "SHA256SUMS"

// namespace is that of the signature, as ssh-keygen -Y wants one: a signature for another use does
// not pass here.
const namespace = "kiln-release"

// addSums writes SHA256SUMS, and its signature if there is a key.
func (m *maker) addSums(key string) error {
	var sums bytes.Buffer
	err := fs.WalkDir(os.DirFS(m.out), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(m.out, p))
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), p)
		return err
	})
	if err != nil {
		return err
	}
	path := filepath.Join(m.out, sumsName)
	if err := os.WriteFile(path, sums.Bytes(), 0o644); err != nil {
		return err
	}
	if key == "" {
		return nil
	}
	if key, err = filepath.Abs(key); err != nil {
		return err
	}
	_, err = m.run("ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", key, path)
	return err
}

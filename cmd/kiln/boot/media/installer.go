// This file writes Ignition's configurations with which a live system installs itself on a
// disk. It leaves to others where such a configuration and what it names are served.

package media

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
)

// Settings say what is installed where.
type Settings struct {
	// Disk is the disk, such as /dev/sda.
	Disk string
	// Address and SHA256 are those of the machine's document. The live system fetches it there, and
	// takes no other one.
	Address, SHA256 string
	// Document is the document itself, for a live system that is to fetch none; empty if it does.
	Document []byte
	// Image is the address of the system's image, for a system whose live image does not hold it.
	Image string
}

// config is as much of Ignition's configuration as an installer needs.
type config struct {
	Ignition struct {
		Version string `json:"version"`
	} `json:"ignition"`
	Storage struct {
		Files []file `json:"files"`
	} `json:"storage"`
	Systemd *systemd `json:"systemd,omitempty"`
}

type file struct {
	Path     string `json:"path"`
	Contents source `json:"contents"`
	Mode     int    `json:"mode"`
}

type source struct {
	Source string `json:"source"`
}

type systemd struct {
	Units []unit `json:"units"`
}

type unit struct {
	Name     string `json:"name"`
	Enabled  bool   `json:"enabled"`
	Contents string `json:"contents"`
}

// newFile returns a file with these contents.
func newFile(path string, mode int, contents []byte) file {
	return file{
		path, source{"data:;base64," + base64.StdEncoding.EncodeToString(contents)}, mode,
	}
}

// newConfig returns a configuration with these files.
func newConfig(files ...file) *config {
	var c config
	c.Ignition.Version = "3.4.0"
	c.Storage.Files = files
	return &c
}

// The paths on a live system of Fedora CoreOS: of the settings, and of a document.
const (
	coreosSettings = "/etc/coreos/installer.d/kiln.yaml"
	coreosDocument = "/etc/coreos/dest.ign"
)

// CoreOS returns the configuration of a live system that runs coreos-installer at once and then
// boots the installed system. The installer's service looks for settings in
// /etc/coreos/installer.d (coreos-installer's docs/customizing-install.md).
func CoreOS(s *Settings) ([]byte, error) {
	text := fmt.Sprintf("dest-device: %s\n", s.Disk)
	if s.Document == nil {
		text += fmt.Sprintf("ignition-url: %s\nignition-hash: sha256-%s\n", s.Address, s.SHA256)
		return json.Marshal(newConfig(newFile(coreosSettings, 0o600, []byte(text))))
	}
	text += fmt.Sprintf("ignition-file: %s\n", coreosDocument)
	return json.Marshal(newConfig(
		newFile(coreosSettings, 0o600, []byte(text)),
		newFile(coreosDocument, 0o600, s.Document),
	))
}

// The paths on a live system of Flatcar: of the script, its settings, and a document.
const (
	flatcarScript   = "/opt/bin/kiln-install"
	flatcarSettings = "/etc/kiln-install"
	flatcarDocument = "/etc/kiln-install.ign"
)

// flatcarUnit is the name of the unit that runs the script.
const flatcarUnit = "kiln-install.service"

//go:embed kiln-install
var script []byte

//go:embed kiln-install.service
var unitText string

// Flatcar returns the configuration of a live system that runs flatcar-install at once and then
// boots the installed system. Flatcar's live image has no service for that, so a script does it.
func Flatcar(s *Settings) ([]byte, error) {
	settings := fmt.Sprintf("disk %s\ndocument %s\nsha256 %s\nimage %s\n",
		s.Disk, s.Address, s.SHA256, s.Image)
	c := newConfig(
		newFile(flatcarScript, 0o755, script),
		newFile(flatcarSettings, 0o600, []byte(settings)),
	)
	if s.Document != nil {
		c.Storage.Files = append(c.Storage.Files, newFile(flatcarDocument, 0o600, s.Document))
	}
	c.Systemd = &systemd{Units: []unit{{flatcarUnit, true, unitText}}}
	return json.Marshal(c)
}

// isPublicInstaller reports whether data is a configuration of this package that fetches its
// document, and so holds no secret.
func isPublicInstaller(data []byte) bool {
	var c config
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&c) != nil || decoder.More() {
		return false
	}
	var names []string
	for _, f := range c.Storage.Files {
		names = append(names, f.Path)
	}
	if c.Systemd != nil {
		for _, u := range c.Systemd.Units {
			names = append(names, u.Name)
		}
	}
	return slices.Equal(names, []string{coreosSettings}) ||
		slices.Equal(names, []string{flatcarScript, flatcarSettings, flatcarUnit})
}

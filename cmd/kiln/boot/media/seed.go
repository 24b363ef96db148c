package media

import (
	"cmp"
	"errors"
	"fmt"

	"kiln.dev/kiln/cmd/kiln/boot/media/iso9660"
	"kiln.dev/kiln/render/facts/target"
)

// medium returns where the machine reads its document. It fails if the machine reads no image, and
// then says what to do instead.
func (m *Machine) medium() (*target.Medium, error) {
	if !m.Ignition {
		return &target.NoCloud, nil
	}
	system, _ := target.SystemNamed(m.OS)
	platform, _ := target.PlatformNamed(m.Platform)
	if system.Medium != nil && platform.NoSUSEImage {
		return system.Medium, nil
	}
	if platform.Medium != nil {
		return platform.Medium, nil
	}
	return nil, fmt.Errorf("%s on %s %w; %s",
		m.OS, m.Platform, ErrNoDisk, cmp.Or(platform.Handover, "give it the document as user-data"))
}

// ErrNoDisk is in the chain of an error if a machine reads no image.
var ErrNoDisk = errors.New("reads Ignition from no disk")

// Image returns the ISO 9660 image from which the machine reads its document and the files that are
// delivered beside it, and the image's label: for cloud-init NoCloud's seed, for Ignition the
// medium of the platform. It fails, and names the machine, if the machine reads no image.
func (m *Machine) Image() (label string, image []byte, err error) {
	medium, err := m.medium()
	if err != nil {
		return "", nil, fmt.Errorf("%s %s: %w", m.Kind(), m.Name, err)
	}
	files := []iso9660.File{{Path: medium.Document, Data: m.document()}}
	for _, beside := range m.Files[1:] {
		files = append(files, iso9660.File(beside))
	}
	if image, err = iso9660.Image(medium.Label, files); err != nil {
		return "", nil, fmt.Errorf("%s %s: %w", m.Kind(), m.Name, err)
	}
	return medium.Label, image, nil
}

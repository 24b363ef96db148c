package bootmedia

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/boot/media"
)

// TestUnable: a machine whose image fails for another reason is not one that reads no disk, so no
// command leaves it out.
func TestUnable(t *testing.T) {
	t.Parallel()
	i := Images{folder: t.TempDir(), name: func(m *media.Machine) string { return m.Name }}
	files := []media.File{{Path: "user-data"}, {Path: "meta-data"}}
	for _, row := range []struct {
		machine media.Machine
		noDisk  bool
	}{
		{media.Machine{Name: "good", OS: "ubuntu", Platform: "nocloud", Files: files}, false},
		{media.Machine{Name: "twice", OS: "ubuntu", Platform: "nocloud",
			Files: append(files, files[1])}, false},
		{media.Machine{Name: "none", OS: "flatcar", Platform: "metal", Ignition: true,
			Files: []media.File{{Path: "config.ign"}}}, true},
	} {
		_, err := i.file(&row.machine)
		require.Equal(t, row.machine.Name != "good", err != nil, row.machine.Name)
		require.Equal(t, row.noDisk, errors.Is(err, media.ErrNoDisk), "%v", err)
	}
	require.Equal(t, 1, i.unable)
	require.Len(t, i.able, 1)
}

package media

import (
	"fmt"
	"slices"

	"kiln/render/media/iso9660"
)

// form is where on an image a machine reads its document.
type form struct {
	label, document string
}

// The forms. Labels are in lower case: cloud-init takes either, Ignition does not.
var (
	// noCloud is cloud-init's NoCloud, with meta-data and network-config beside the document; Ignition for Proxmox reads it too.
	noCloud = form{"cidata", "user-data"}
	// configDrive is OpenStack's.
	configDrive = form{"config-2", "openstack/latest/user_data"}
	// suse is what openSUSE's own provider of Ignition reads wherever no other one is.
	suse = form{"ignition", "ignition/config.ign"}
)

// ignitionForms say where Ignition reads a disk. KubeVirt's cidata is read from Ignition 2.25 on alone, and Flatcar's is 2.24; config-2 was always
// read (coreos/ignition#1334, #2134).
var ignitionForms = map[string]form{
	"kubevirt":  configDrive,
	"nocloud":   noCloud,
	"openstack": configDrive,
	"proxmox":   noCloud,
}

// suseForms are the platforms of which MicroOS has no image of its own.
var suseForms = []string{"hyperv", "libvirt", "metal", "nocloud", "proxmox", "qemu"}

// form is where the machine reads its document, or why it reads no image, and what else to do.
func (m *Machine) form() (form, error) {
	if !m.Ignition {
		return noCloud, nil
	}
	if m.OS == "microos" && slices.Contains(suseForms, m.Platform) {
		return suse, nil
	}
	if f, ok := ignitionForms[m.Platform]; ok {
		return f, nil
	}
	remedy := "give it the document as user-data"
	switch m.Platform {
	case "metal":
		remedy = "write the document to its disk (flatcar-install -i, coreos-installer install --ignition-file), or boot it over the network: kiln netboot"
	case "qemu", "libvirt":
		remedy = "hand QEMU the document: -fw_cfg name=opt/com.coreos/config,file=config.ign"
	}
	return form{}, fmt.Errorf("%s on %s reads Ignition from no disk; %s", m.OS, m.Platform, remedy)
}

// Image is the ISO 9660 image that the machine reads its document from, and what is delivered beside that: for cloud-init NoCloud's seed, for
// Ignition what its platform reads. It fails if the platform reads none, and names the machine.
func (m *Machine) Image() (label string, image []byte, err error) {
	f, err := m.form()
	if err != nil {
		return "", nil, fmt.Errorf("%s %s: %w", m.Kind(), m.Name, err)
	}
	files := []iso9660.File{{Path: f.document, Data: m.document()}}
	for _, beside := range m.Files[1:] {
		files = append(files, iso9660.File(beside))
	}
	if image, err = iso9660.Image(f.label, files); err != nil {
		return "", nil, fmt.Errorf("%s %s: %w", m.Kind(), m.Name, err)
	}
	return f.label, image, nil
}

package media

import "cmp"

// system is what an operating system decides about a network boot.
type system struct {
	name string
	// images are what boots, by the names that kiln looks for below the address that files are served from: images/NAME/….
	kernel, initrd, rootfs string
	// args are the kernel's arguments.
	args []string
	// config is where Ignition finds a configuration in an initrd that is appended; empty for systems with cloud-init.
	config string
	// seed is the name under which cloud-init takes NoCloud's address. Up to 22.4 it reads one over HTTP as nocloud-net alone; later ones take that
	// too and call it deprecated. Ubuntu's releases all have a later one.
	seed string
	// installer says that its live image installs itself to a disk (coreos-installer).
	installer bool
}

// systems is the table of systems that kiln knows how to boot over the network. MicroOS is not among them: its images for PXE write themselves to the
// disk and ask for Ignition at the next boot, from a disk (kiln iso).
var systems = []system{
	{name: "flatcar", kernel: "flatcar_production_pxe.vmlinuz", initrd: "flatcar_production_pxe_image.cpio.gz", args: []string{"flatcar.first_boot=1"}, config: "usr/share/oem/config.ign"},
	{name: "fedora-coreos", kernel: "live-kernel", initrd: "live-initramfs.img", rootfs: "live-rootfs.img", args: []string{"ignition.firstboot"}, config: "config.ign", installer: true},
	{name: "ubuntu", kernel: "vmlinuz", initrd: "initrd", seed: "nocloud"},
	{name: "debian", kernel: "vmlinuz", initrd: "initrd", seed: "nocloud-net"},
	{name: "rhel", kernel: "vmlinuz", initrd: "initrd", seed: "nocloud-net"},
	{name: "amazon-linux", kernel: "vmlinuz", initrd: "initrd", seed: "nocloud-net"},
}

// Systems are the names of the systems that can boot over the network.
func Systems() []string {
	names := make([]string, len(systems))
	for i := range systems {
		names[i] = systems[i].name
	}
	return names
}

// systemOf returns the system of a name, or nil.
func systemOf(name string) *system {
	for i := range systems {
		if systems[i].name == name {
			return &systems[i]
		}
	}
	return nil
}

// platformIDs are the names that Ignition has for platforms, where they are not those of cluster.yaml. A live image of Fedora CoreOS is for all of
// them and has to be told (docs of Fedora CoreOS, "Running directly from RAM").
var platformIDs = map[string]string{
	"libvirt": "qemu",
	"nocloud": "metal",
	"proxmox": "proxmoxve",
	"vsphere": "vmware",
}

// platformID is the machine's platform as Ignition calls it.
func (m *Machine) platformID() string { return cmp.Or(platformIDs[m.Platform], m.Platform) }

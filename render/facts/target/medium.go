package target

// Medium is where on a disk or an image a machine reads its document.
type Medium struct {
	// Label is the label of the file system.
	Label string
	// Document is the path of the document in it.
	Document string
}

// The media. Labels are in lower case: cloud-init takes either case, Ignition does not.
var (
	// NoCloud is the medium of cloud-init's data source NoCloud, with meta-data and network-config
	// beside the document. Ignition for Proxmox reads it too.
	NoCloud = Medium{"cidata", "user-data"}
	// configDrive is OpenStack's.
	configDrive = Medium{"config-2", "openstack/latest/user_data"}
	// suse is what openSUSE's own provider of Ignition reads.
	suse = Medium{"ignition", "ignition/config.ign"}
)

// Installer is a program that installs a system on a disk.
type Installer string

// The installers.
const (
	CoreOSInstaller  Installer = "coreos-installer"
	FlatcarInstaller Installer = "flatcar-install"
)

// NetBoot is how an operating system boots over the network.
type NetBoot struct {
	// Kernel, Initrd and RootFS are the names of the files that boot, as the system's publisher
	// calls them; RootFS is empty if the initrd holds the root file system.
	Kernel, Initrd, RootFS string
	// Args are the arguments of the kernel.
	Args []string
	// Config is where Ignition finds a configuration in an initrd that is appended; empty for a
	// system with cloud-init.
	Config string
	// Seed is the name under which cloud-init takes the address of NoCloud; empty for a system with
	// Ignition. Versions up to 22.4 read an address over HTTP as nocloud-net alone; later versions
	// take that name too and call it deprecated. All releases of Ubuntu have a later version.
	Seed string
	// Installer is the program with which the live image installs itself on a disk; empty if it has
	// none.
	Installer Installer
	// DiskImage is the name of the image that the installer writes, whose signature has the same
	// name and .sig; empty if the live image holds what it writes.
	DiskImage string
}

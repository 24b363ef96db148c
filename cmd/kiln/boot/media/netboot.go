package media

import (
	"cmp"
	"fmt"
	"iter"
	"path"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/pack/document"
)

// Netboot holds the settings of a network boot.
type Netboot struct {
	// Cluster is the cluster's name and ID its UUID.
	Cluster, ID string
	// URL is the address that serves the files, http or https, without a slash at its end.
	URL string
	// Images names the files that boot, by operating system. A file that it does not name is below
	// URL, in images/SYSTEM.
	Images map[string]Images
	// Append holds further arguments for the kernels, by operating system.
	Append map[string][]string
	// Initrd reports whether Ignition's configurations come in an initrd of their own instead of
	// over HTTP.
	Initrd bool
	// Disks are the disks that live images install themselves on, by the machine's name; the name
	// "" is for every other machine. A machine without a disk runs from RAM.
	Disks map[string]string
	// Matchbox is the address of a Matchbox that serves Ignition's configurations; empty if URL
	// serves them.
	Matchbox string
}

// Images are the addresses of the files that boot. An address without a scheme is below URL.
type Images struct {
	Kernel string
	// Initrds are unpacked in this order.
	Initrds []string
	RootFS  string
	// Disk is the image that a system is installed from.
	Disk string
}

// Boot is how one machine boots.
type Boot struct {
	Node string `json:"node"` // the name of the node or pool
	Pool bool   `json:"pool,omitempty"`
	OS   string `json:"os"`
	MAC  string `json:"mac,omitempty"`
	// Script is the path of its iPXE script; empty if it has none.
	Script string `json:"script,omitempty"`
	// Kernel and Initrds are addresses.
	Kernel  string   `json:"kernel"`
	Initrds []string `json:"initrds"`
	Args    []string `json:"args"`
	// Disk is the disk on which the machine installs itself; empty if it runs from RAM.
	Disk string `json:"disk,omitempty"`
	// Install lists the addresses that the installer fetches beside the document.
	Install []string `json:"install,omitempty"`
	// Images are the paths of all images that are below URL. kiln does not write them.
	Images []string `json:"-"`
}

// Skipped is a machine without a script, and the reason.
type Skipped struct {
	Kind, Name, Why string
}

// Result sums up the files of a network boot.
type Result struct {
	Boots   []Boot // in the machines' order
	Skipped []Skipped
	Paths   []string // of all files
}

// IndexFile is the name of the index, which is the last file.
const IndexFile = document.NetbootFile

// Files yields all files that machines need to boot over the network, one machine after the other,
// by their paths below URL:
//
//	boot.ipxe                                the script that iPXE starts with
//	ipxe/mac-XX-XX-XX-XX-XX-XX.ipxe          a machine's script, by its MAC
//	ipxe/pools/NAME.ipxe                     a pool's script
//	NODE/…, pools/NAME/…                     documents, as they were rendered
//	initrd/NODE.cpio.gz                      Ignition's configuration as an initrd to append
//	installer/NODE.ign                       with Disks: makes the live image install itself
//	matchbox/{groups,profiles,ignition}/…    Matchbox's data
//	netboot.json                             the index
//
// A machine without a MAC, or with a system that kiln cannot boot over the network, is among the
// skipped; its document is yielded all the same. It is an error if no machine has a script. Files
// yields every error, those of machines too. r is complete when all files have been yielded.
func (n *Netboot) Files(machines iter.Seq2[*Machine, error], r *Result) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		w := &writer{
			Netboot: n, result: r, yield: yield, more: true,
			macs: map[string]string{}, installers: map[string]bool{},
		}
		w.fail(checkName("cluster", n.Cluster))
		for m, err := range machines {
			if err == nil {
				err = w.machine(m)
			}
			if w.fail(err); !w.more {
				return
			}
		}
		w.add("boot.ipxe", w.start())
		w.disks()
		w.scripts()
		w.index()
		for _, err := range clashes(r.Paths) {
			w.fail(err)
		}
	}
}

// writer is one run of Files.
type writer struct {
	*Netboot
	result     *Result
	yield      func(File, error) bool
	more       bool              // yield takes further files
	failed     bool              // an error has been yielded
	macs       map[string]string // the machine of each MAC
	installers map[string]bool   // whether a machine can install itself
}

// add yields a file.
func (w *writer) add(name string, data []byte) {
	w.result.Paths = append(w.result.Paths, name)
	w.more = w.more && w.yield(File{name, data}, nil)
}

// fail yields an error, if there is one.
func (w *writer) fail(err error) {
	if err != nil {
		w.failed = true
		w.more = w.more && w.yield(File{}, err)
	}
}

// machine adds all files of one machine.
func (w *writer) machine(m *Machine) error {
	if err := w.check(m); err != nil {
		return err
	}
	for _, f := range m.Files {
		w.add(path.Join(m.Dir, f.Path), f.Data)
	}
	if !m.Ignition {
		// cloud-init fetches all four files, and from 24.3 on it asks for a missing one again and
		// again.
		for _, file := range []string{"vendor-data", "network-config"} {
			if m.file(file) == nil {
				w.add(path.Join(m.Dir, file), nil)
			}
		}
	}
	system, _ := target.SystemNamed(m.OS)
	s := system.NetBoot
	if s == nil {
		w.skip(m, fmt.Sprintf("kiln knows no network boot of %s; use an image: kiln iso", m.OS))
		return nil
	}
	if m.Ignition != (s.Config != "") {
		return fmt.Errorf("%s %s: its document is not in the format of %s; render again",
			m.Kind(), m.Name, m.OS)
	}
	w.installers[m.Name] = s.Installer != ""
	var config []byte
	if m.Ignition {
		var err error
		if config, err = w.ignition(m, s); err != nil {
			return fmt.Errorf("%s %s: %w", m.Kind(), m.Name, err)
		}
	}
	b := w.boot(m, s)
	switch {
	case m.Pool:
		b.Script = path.Join("ipxe", m.Dir+".ipxe")
	case m.MAC == "":
		w.skip(m, `it has no MAC; add mac: "52:54:00:…" to the node in cluster.yaml, render, `+
			"and run kiln netboot again")
	default:
		b.Script = "ipxe/mac-" + strings.ReplaceAll(m.MAC, ":", "-") + ".ipxe"
	}
	if size := len(strings.Join(b.Args, " ")); size > maxArgs {
		return fmt.Errorf("%s %s: the kernel's arguments have %d characters, and Linux takes %d; "+
			"shorten --append or --url", m.Kind(), m.Name, size, maxArgs)
	}
	w.result.Boots = append(w.result.Boots, b)
	if b.Script != "" {
		w.add(b.Script, w.script(m, &b))
		return w.matchbox(m, &b, config)
	}
	return nil
}

// maxArgs is COMMAND_LINE_SIZE of x86 and arm64 less the zero at the end.
const maxArgs = 2047

// skip notes a machine without a script.
func (w *writer) skip(m *Machine, why string) {
	w.result.Skipped = append(w.result.Skipped, Skipped{m.Kind(), m.Name, why})
}

// boot returns how a machine boots.
func (n *Netboot) boot(m *Machine, s *target.NetBoot) Boot {
	b := Boot{Node: m.Name, Pool: m.Pool, OS: m.OS, MAC: m.MAC}
	address := func(given, name string) string {
		image := n.image(m, given, name)
		below, ok := strings.CutPrefix(image, n.below(""))
		if ok && !strings.Contains(below, "${") { // a variable of iPXE stands for several files
			b.Images = append(b.Images, below)
		}
		return image
	}
	images := n.Images[m.OS]
	b.Kernel = address(images.Kernel, s.Kernel)
	if len(images.Initrds) == 0 {
		images.Initrds = []string{""}
	}
	for i, initrd := range images.Initrds {
		b.Initrds = append(b.Initrds, address(initrd, s.Initrd))
		b.Args = append(b.Args, "initrd="+initrdName(i))
	}
	if m.Ignition && n.Initrd {
		b.Args = append(b.Args, "initrd="+initrdName(len(b.Initrds)))
		b.Initrds = append(b.Initrds, n.below(archivePath(m)))
	}
	b.Args = append(b.Args, s.Args...)
	if s.RootFS != "" {
		rootFS := address(images.RootFS, s.RootFS)
		b.Args = append(b.Args,
			"ignition.platform.id="+m.platformID(), "coreos.live.rootfs_url="+rootFS)
	}
	switch {
	case !m.Ignition:
		seed := "ds=" + s.Seed
		if id := m.instance(); id != "" {
			seed += ";i=" + id
		}
		// Without the slash cloud-init reads the folder above.
		b.Args = append(b.Args, seed+";s="+n.below(m.Dir)+"/")
	case !n.Initrd:
		b.Args = append(b.Args, configArg+n.below(n.configPath(m, s)))
	}
	b.Args = append(b.Args, n.Append[m.OS]...)
	if b.Disk = n.disk(m, s); b.Disk != "" && s.DiskImage != "" {
		image := address(images.Disk, s.DiskImage)
		b.Install = []string{image, address(image+SignatureEnd, "")}
	}
	return b
}

// SignatureEnd is what the name of an image's signature has behind that of the image.
const SignatureEnd = ".sig"

// image returns the address of an image: the one that is given, or that of the image with this name
// below URL.
func (n *Netboot) image(m *Machine, given, name string) string {
	given = cmp.Or(given, path.Join("images", m.OS, name))
	if strings.Contains(given, "://") {
		return given
	}
	return n.below(strings.TrimLeft(given, "/"))
}

// configArg is the kernel's argument that names Ignition's configuration.
const configArg = "ignition.config.url="

// initrdName returns iPXE's name of the i-th initrd of a machine; UEFI needs names.
func initrdName(i int) string {
	if i == 0 {
		return "main"
	}
	return fmt.Sprintf("more-%d", i)
}

// below returns the address of a path.
func (n *Netboot) below(name string) string { return n.URL + "/" + name }

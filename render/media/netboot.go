package media

import (
	"fmt"
	"iter"
	"path"
	"strings"

	"kiln/render/target"
)

// Netboot says how machines boot over the network.
type Netboot struct {
	// Cluster is the cluster's name and ID its UUID.
	Cluster, ID string
	// URL is where the files are served from, http or https, without a slash at its end.
	URL string
	// Images are what boots, by the name of the operating system. What is not there is below URL, in images/NAME.
	Images map[string]Images
	// Append has more arguments for the kernels, by the name of the operating system.
	Append map[string][]string
	// Initrd says that Ignition's configurations come in an initrd of their own, and not over HTTP.
	Initrd bool
	// Disks are the disks that the live image of Fedora CoreOS installs to, by the machine's name; that of "" is every other machine's. Without one
	// a machine runs from RAM.
	Disks map[string]string
	// Matchbox is the address of a Matchbox that serves Ignition's configurations; empty if URL does.
	Matchbox string
}

// Images are the addresses of what boots. One without a scheme is below URL.
type Images struct {
	Kernel string
	// Initrds are unpacked in this order.
	Initrds []string
	RootFS  string
}

// Boot is how one machine boots.
type Boot struct {
	Node string `json:"node"`
	Pool bool   `json:"pool,omitempty"`
	OS   string `json:"os"`
	MAC  string `json:"mac,omitempty"`
	// Script is the path of its iPXE script; none if it has none.
	Script string `json:"script,omitempty"`
	// Kernel and Initrds are addresses.
	Kernel  string   `json:"kernel"`
	Initrds []string `json:"initrds"`
	Args    []string `json:"args"`
	// Images are the paths of those of them that kiln does not write and that are to be served from URL all the same.
	Images []string `json:"-"`
}

// Skipped is a machine without a script, and why.
type Skipped struct {
	Kind, Name, Why string
}

// Result tells of the files of a network boot.
type Result struct {
	Boots   []Boot // in the machines' order
	Skipped []Skipped
	Paths   []string // of all files
}

// IndexFile is the last file: how every machine boots, and which files there are.
const IndexFile = "netboot.json"

// Files yields all files that machines need to boot over the network, one machine after the other, by their paths below URL:
//
//	boot.ipxe                                the script that iPXE starts with
//	ipxe/mac-XX-XX-XX-XX-XX-XX.ipxe          each machine's, by its MAC; ipxe/pools/NAME.ipxe a pool's
//	NODE/…, pools/NAME/…                     documents, as they were rendered
//	initrd/NODE.cpio.gz                      Ignition's configuration as an initrd to append
//	installer/NODE.ign                       with Disks: what makes the live image install itself
//	matchbox/{groups,profiles,ignition}/…    Matchbox's data
//	netboot.json                             the index
//
// A machine that no script can be made for is among those skipped; its document is there all the same. If no machine has a script that is an error.
// All errors are yielded, those of machines too; r is whole when everything was taken.
func (n *Netboot) Files(machines iter.Seq2[*Machine, error], r *Result) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		w := &writer{Netboot: n, result: r, yield: yield, more: true, macs: map[string]string{}, installers: map[string]bool{}}
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
	more       bool              // yield wants more
	failed     bool              // something is wrong
	macs       map[string]string // whose they are
	installers map[string]bool   // machines that can install themselves
}

func (w *writer) add(name string, data []byte) {
	w.result.Paths = append(w.result.Paths, name)
	w.more = w.more && w.yield(File{name, data}, nil)
}

func (w *writer) fail(err error) {
	if err != nil {
		w.failed = true
		w.more = w.more && w.yield(File{}, err)
	}
}

// machine adds everything of one machine.
func (w *writer) machine(m *Machine) error {
	if err := w.check(m); err != nil {
		return err
	}
	for _, f := range m.Files {
		w.add(path.Join(m.Dir, f.Path), f.Data)
	}
	if !m.Ignition {
		// cloud-init asks for all four, and again and again for one that is not there (from 24.3 on).
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
		return fmt.Errorf("%s %s: its document is not in the format of %s; render again", m.Kind(), m.Name, m.OS)
	}
	w.installers[m.Name] = s.Installer
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
		w.skip(m, `it has no MAC; add mac: "52:54:00:…" to the node in cluster.yaml, render, and run kiln netboot again`)
	default:
		b.Script = "ipxe/mac-" + strings.ReplaceAll(m.MAC, ":", "-") + ".ipxe"
	}
	if size := len(strings.Join(b.Args, " ")); size > maxArgs {
		return fmt.Errorf("%s %s: the kernel's arguments have %d characters, and Linux takes %d; shorten --append or --url", m.Kind(), m.Name, size, maxArgs)
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

func (w *writer) skip(m *Machine, why string) {
	w.result.Skipped = append(w.result.Skipped, Skipped{m.Kind(), m.Name, why})
}

// boot is how a machine boots.
func (n *Netboot) boot(m *Machine, s *target.NetBoot) Boot {
	b := Boot{Node: m.Name, Pool: m.Pool, OS: m.OS, MAC: m.MAC}
	address := func(given, name string) string {
		if given == "" {
			given = path.Join("images", m.OS, name)
		}
		if strings.Contains(given, "://") {
			return given
		}
		given = strings.TrimLeft(given, "/")
		if !strings.Contains(given, "${") { // iPXE's variables stand for several
			b.Images = append(b.Images, given)
		}
		return n.below(given)
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
		b.Args = append(b.Args, "ignition.platform.id="+m.platformID(), "coreos.live.rootfs_url="+address(images.RootFS, s.RootFS))
	}
	switch {
	case !m.Ignition:
		seed := "ds=" + s.Seed
		if id := m.instance(); id != "" {
			seed += ";i=" + id
		}
		b.Args = append(b.Args, seed+";s="+n.below(m.Dir)+"/") // without the slash it reads the folder above
	case !n.Initrd:
		b.Args = append(b.Args, configArg+n.below(n.configPath(m, s)))
	}
	b.Args = append(b.Args, n.Append[m.OS]...)
	return b
}

// configArg names Ignition's configuration.
const configArg = "ignition.config.url="

// initrdName is what iPXE calls the i-th initrd of a machine: UEFI needs them by name.
func initrdName(i int) string {
	if i == 0 {
		return "main"
	}
	return fmt.Sprintf("more-%d", i)
}

// below is the address of a path.
func (n *Netboot) below(name string) string { return n.URL + "/" + name }

package media

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
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
	Machine *Machine
	Why     string
}

// Result is what a network boot needs.
type Result struct {
	Files   []File // sorted
	Boots   []Boot // in the machines' order
	Skipped []Skipped
}

// IndexFile is the last file of a result: how every machine boots, and which files there are.
const IndexFile = "netboot.json"

// Files returns all files that machines need to boot over the network, by their paths below URL:
//
//	boot.ipxe                                the script that iPXE starts with
//	ipxe/mac-XX-XX-XX-XX-XX-XX.ipxe          each machine's, by its MAC; ipxe/pools/NAME.ipxe a pool's
//	NODE/…, pools/NAME/…                     documents, as they were rendered
//	initrd/NODE.cpio.gz                      Ignition's configuration as an initrd to append
//	installer/NODE.ign                       with Disks: what makes the live image install itself
//	matchbox/{groups,profiles,ignition}/…    Matchbox's data
//	netboot.json                             the index
//
// A machine that no script can be made for is among those skipped; its document is there all the same. Everything that is wrong is in the error.
func (n *Netboot) Files(machines []Machine) (*Result, error) {
	if err := n.check(machines); err != nil {
		return nil, err
	}
	w := &writer{Netboot: n, result: &Result{}}
	for i := range machines {
		if err := w.machine(&machines[i]); err != nil {
			w.errs = append(w.errs, fmt.Errorf("%s %s: %w", machines[i].Kind(), machines[i].Name, err))
		}
	}
	w.add("boot.ipxe", w.start())
	w.index()
	byPath(w.result.Files)
	if err := errors.Join(append(w.errs, clashes(w.result.Files)...)...); err != nil {
		return nil, err
	}
	return w.result, nil
}

type writer struct {
	*Netboot
	result *Result
	errs   []error
}

func (w *writer) add(name string, data []byte) {
	w.result.Files = append(w.result.Files, File{name, data})
}

// machine adds everything of one machine.
func (w *writer) machine(m *Machine) error {
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
	s := systemOf(m.OS)
	if s == nil {
		w.skip(m, fmt.Sprintf("kiln knows no network boot of %s; use an image: kiln iso", m.OS))
		return nil
	}
	var config []byte
	if m.Ignition {
		var err error
		if config, err = w.ignition(m, s); err != nil {
			return err
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
		return fmt.Errorf("the kernel's arguments have %d characters, and Linux takes %d; shorten --append or --url", size, maxArgs)
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
	w.result.Skipped = append(w.result.Skipped, Skipped{m, why})
}

// boot is how a machine boots.
func (n *Netboot) boot(m *Machine, s *system) Boot {
	b := Boot{Node: m.Name, Pool: m.Pool, OS: m.OS, MAC: m.MAC}
	address := func(given, name string) string {
		if given == "" {
			given = path.Join("images", s.name, name)
		}
		if strings.Contains(given, "://") {
			return given
		}
		if !strings.Contains(given, "${") { // iPXE's variables stand for several
			b.Images = append(b.Images, given)
		}
		return n.below(given)
	}
	images := n.Images[s.name]
	b.Kernel = address(images.Kernel, s.kernel)
	if len(images.Initrds) == 0 {
		images.Initrds = []string{""}
	}
	for i, initrd := range images.Initrds {
		b.Initrds = append(b.Initrds, address(initrd, s.initrd))
		b.Args = append(b.Args, "initrd="+initrdName(i))
	}
	if m.Ignition && n.Initrd {
		b.Args = append(b.Args, "initrd="+initrdName(len(b.Initrds)))
		b.Initrds = append(b.Initrds, n.below(archivePath(m)))
	}
	b.Args = append(b.Args, s.args...)
	if s.rootfs != "" {
		b.Args = append(b.Args, "ignition.platform.id="+m.platformID(), "coreos.live.rootfs_url="+address(images.RootFS, s.rootfs))
	}
	switch {
	case !m.Ignition:
		b.Args = append(b.Args, "ds="+s.seed+";s="+n.below(m.Dir)+"/") // without the slash it reads the folder above
	case !n.Initrd:
		b.Args = append(b.Args, configArg+n.below(n.configPath(m, s)))
	}
	b.Args = append(b.Args, n.Append[s.name]...)
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

// check finds what is wrong before anything is made.
func (n *Netboot) check(machines []Machine) error {
	var errs []error
	plain := func(what, value string) {
		if !name.MatchString(value) {
			errs = append(errs, fmt.Errorf("%s %q: kiln renders no such name, and it would stand in scripts; render again", what, value))
		}
	}
	plain("cluster", n.Cluster)
	seen := map[string]string{}
	for i := range machines {
		m := &machines[i]
		plain(m.Kind(), m.Name)
		plain("platform", m.Platform)
		if m.MAC == "" {
			continue
		}
		if !macAddress.MatchString(m.MAC) {
			errs = append(errs, fmt.Errorf("node %s: mac %q: want six pairs of lower-case hexadecimal digits, such as 52:54:00:12:34:56", m.Name, m.MAC))
		}
		if other, ok := seen[m.MAC]; ok {
			errs = append(errs, fmt.Errorf("node %s: mac %s is that of %s too; one machine has it", m.Name, m.MAC, other))
		}
		seen[m.MAC] = m.Name
	}
	for _, node := range slices.Sorted(maps.Keys(n.Disks)) {
		if !slices.ContainsFunc(machines, func(m Machine) bool {
			s := systemOf(m.OS)
			return (node == "" || m.Name == node) && s != nil && s.installer
		}) {
			errs = append(errs, fmt.Errorf("the disk %s: no machine %sis there with fedora-coreos; the other systems do not install themselves", n.Disks[node], spaced(node)))
		}
	}
	return errors.Join(errs...)
}

func spaced(name string) string {
	if name == "" {
		return ""
	}
	return name + " "
}

// name is what the names of clusters, machines and platforms look like.
var name = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

var macAddress = regexp.MustCompile(`^([0-9a-f]{2}:){5}[0-9a-f]{2}$`)

// Address says what is wrong with an address that files are served from.
func Address(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		return errors.New("not an address; write it like http://10.0.0.5:8080")
	case u.User != nil:
		return errors.New("it stands on every kernel's command line, where everybody reads its password; leave it away")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery || strings.HasSuffix(text, "#"):
		return errors.New("paths are put behind it, so it can have no ? and no #")
	}
	return Argument(text)
}

// Argument says what is wrong with a word of an iPXE script, which has no quotes and no escapes (iPXE's src/core/exec.c).
func Argument(word string) error {
	switch {
	case word == "":
		return errors.New("nothing is there")
	case strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("it has a space or a character that is not ASCII, and iPXE knows no quotes")
	case word[0] == '#' || word == "||" || word == "&&" || word == ";":
		return errors.New("iPXE would take it for a comment or the end of the command")
	}
	return nil
}

// clashes finds paths that are there twice, or both as a file and as a folder: names of machines become those of folders.
func clashes(files []File) (errs []error) {
	seen := map[string]bool{}
	for _, f := range files {
		if seen[f.Path] {
			errs = append(errs, fmt.Errorf("two files would be %s; rename the machine that it is named for", f.Path))
		}
		seen[f.Path] = true
	}
	for _, f := range files {
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			if seen[dir] {
				errs = append(errs, fmt.Errorf("%s would be a file and the folder of %s; rename the machine", dir, f.Path))
			}
		}
	}
	return errs
}

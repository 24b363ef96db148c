package bootmedia

import (
	"cmp"
	"fmt"
	"iter"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kiln.dev/kiln/cmd/kiln/boot/media"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/text/wording"
)

// Netboot describes, with the values of flags, a folder to boot machines from over the network.
type Netboot struct {
	Out      string // the folder
	URL      string // the address that serves the folder
	Initrd   bool   // Ignition's configurations are in an initrd, and come with the kernel
	Matchbox string // the address of a Matchbox that serves Ignition's configurations, or empty

	Kernel, Initrds, RootFS []string // addresses, [OS=]URL
	Append                  []string // kernel arguments, [OS=]ARGUMENTS
	InstallDev              []string // disks, [NODE=]/dev/…
	InstallImage            string   // the address of the image that Flatcar installs

	settings media.Netboot
}

// CheckAddresses returns an error if an address of the flags is none, and removes slashes at the
// ends.
func (n *Netboot) CheckAddresses() error {
	for _, flag := range []struct {
		name  string
		value *string
	}{{"url", &n.URL}, {"matchbox", &n.Matchbox}} {
		*flag.value = strings.TrimRight(*flag.value, "/")
		if *flag.value == "" {
			continue
		}
		if err := media.Address(*flag.value); err != nil {
			shown := *flag.value
			if at := strings.LastIndexByte(shown, '@'); at >= 0 {
				shown = "…" + shown[at:] // a password may stand before the @
			}
			return fmt.Errorf("--%s %s: %w", flag.name, shown, err)
		}
	}
	return nil
}

// Prepare reads the flags about systems and machines, for the machines of an output folder. Its
// error holds everything that is wrong with the flags.
func (n *Netboot) Prepare(inv *render.Inventory) error {
	n.settings = media.Netboot{
		Cluster: inv.Name, ID: inv.Cluster, URL: n.URL, Initrd: n.Initrd, Matchbox: n.Matchbox,
	}
	return n.systems(inv.Documents)
}

// Write writes the files for the machines in the output folder dir. It removes files of an earlier
// run that are no longer needed: a machine that is gone must not boot any more. It refuses to write
// into an output folder, because the operator's kubeconfig there must not be served. A folder
// without an index may hold images and other files to be served, but none of the files that Write
// writes.
func (n *Netboot) Write(dir string, inv *render.Inventory) (*media.Result, *render.Changes, error) {
	if _, err := os.Lstat(filepath.Join(n.Out, render.InventoryFile)); err == nil {
		return nil, nil, fmt.Errorf("%s: a folder of kiln render, with more than machines may "+
			"see; name another one with --out", n.Out)
	}
	result := &media.Result{}
	files := n.settings.Files(machines(dir, inv.Documents), result)
	changes, err := render.WriteFiles(render.Files{
		Dir: n.Out, List: media.IndexFile,
		Listed: func(list []byte) ([]string, error) { return n.oldFiles(list, inv) },
		Makes:  media.Made,
		Files:  outputs(files),
	})
	return result, changes, err
}

// outputs turns files into the form that render.WriteFiles takes.
func outputs(files iter.Seq2[media.File, error]) iter.Seq2[render.Output, error] {
	return func(yield func(render.Output, error) bool) {
		for file, err := range files {
			if !yield(render.Output{Name: file.Path, Data: file.Data}, err) {
				return
			}
		}
	}
}

// oldFiles returns the paths that an index lists. It fails if kiln netboot did not write the index,
// or wrote it for another cluster.
func (n *Netboot) oldFiles(index []byte, inv *render.Inventory) ([]string, error) {
	old := media.ParseIndex(index)
	if old == nil {
		return nil, fmt.Errorf("%s: not written by kiln netboot; "+
			"name another folder with --out", filepath.Join(n.Out, media.IndexFile))
	}
	var names []string
	for _, name := range old.Files {
		if media.Made(name) {
			names = append(names, name)
		}
	}
	if old.Cluster != inv.Cluster {
		return names, fmt.Errorf("%s: %w: %s (%s), and this is %s (%s); "+
			"name another folder with --out",
			n.Out, render.ErrForeign, old.Name, old.Cluster, inv.Name, inv.Cluster)
	}
	return names, nil
}

// MissingKernels returns the paths of the kernels and initrds that belong into the folder and are
// missing.
func (n *Netboot) MissingKernels(r *media.Result) (missing []string) {
	for _, b := range r.Boots {
		for _, name := range b.Images {
			_, err := os.Stat(filepath.Join(n.Out, name))
			if err != nil && !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
		}
	}
	return missing
}

// ServeCommand returns the command with which kiln serve serves the folder and the output folder
// dir. It returns nothing unless the address is plain HTTP without a path: kiln serve knows no
// other path, and no boot image trusts its certificate for https.
func (n *Netboot) ServeCommand(dir string) string {
	u, err := url.Parse(n.URL)
	if err != nil || u.Scheme != "http" || u.Path != "" {
		return ""
	}
	host, network := "ADDRESS", "NETWORK"
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		host = a.String()
		if p, err := a.Prefix(24); err == nil && a.Is4() {
			network = p.String()
		}
	}
	return fmt.Sprintf("kiln serve %s %s --listen %s --plain-http --from %s",
		wording.ShellWord(dir), wording.ShellWord(n.Out),
		net.JoinHostPort(host, cmp.Or(u.Port(), "80")), network)
}

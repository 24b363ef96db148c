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

	"kiln/render"
	"kiln/render/media"
)

// Netboot is a folder to boot machines from over the network, as the flags describe it.
type Netboot struct {
	Out      string // the folder
	URL      string // where the folder is served from
	Initrd   bool   // Ignition's configurations come with the kernel
	Matchbox string // the address of a Matchbox that serves Ignition's configurations, or nothing

	Kernel, Initrds, RootFS []string // addresses, [OS=]URL
	Append                  []string // kernel arguments, [OS=]ARGUMENTS
	InstallDev              []string // disks, [NODE=]/dev/…

	settings media.Netboot
}

// Prepare reads what the flags say about the systems and machines of an output folder. Its error holds
// everything that is wrong with the flags.
func (n *Netboot) Prepare(inv *render.Inventory) error {
	n.settings = media.Netboot{
		Cluster: inv.Name, ID: inv.Cluster, URL: n.URL, Initrd: n.Initrd, Matchbox: n.Matchbox,
	}
	return n.systems(inv.Documents)
}

// Write writes the files for the machines in the output folder dir, and removes those of an earlier run
// that are no longer among them: a machine that is gone must not boot any more. It refuses a rendered
// folder: the operator's kubeconfig in it must not be served. It accepts a folder without an index, which may
// hold images and whatever else is to be served, unless one of the files is there already.
func (n *Netboot) Write(dir string, inv *render.Inventory) (*media.Result, *render.Changes, error) {
	if _, err := os.Lstat(filepath.Join(n.Out, render.InventoryFile)); err == nil {
		return nil, nil, fmt.Errorf("%s: a folder of kiln render, with more than machines may see; "+
			"name another one with --out", n.Out)
	}
	result := &media.Result{}
	files := n.settings.Files(machines(dir, inv.Documents), result)
	changes, err := render.WriteFiles(render.Files{
		Dir: n.Out, List: media.IndexFile,
		Listed: func(list []byte) ([]string, error) { return n.listed(list, inv) },
		Files:  outputs(files),
	})
	return result, changes, err
}

// outputs passes files on in the form that render writes.
func outputs(files iter.Seq2[media.File, error]) iter.Seq2[render.Output, error] {
	return func(yield func(render.Output, error) bool) {
		for file, err := range files {
			if !yield(render.Output{Name: file.Path, Data: file.Data}, err) {
				return
			}
		}
	}
}

// listed returns the paths that an index names. It fails if the index is not one of kiln netboot, or
// is another cluster's.
func (n *Netboot) listed(index []byte, inv *render.Inventory) ([]string, error) {
	old := media.ParseIndex(index)
	if old == nil {
		return nil, fmt.Errorf("%s: not written by kiln netboot; name another folder with --out",
			filepath.Join(n.Out, media.IndexFile))
	}
	var names []string
	for _, name := range old.Files {
		if media.Made(name) {
			names = append(names, name)
		}
	}
	if old.Cluster != inv.Cluster {
		return names, fmt.Errorf("%s: %w: %s (%s), and this is %s (%s); name another folder with --out",
			n.Out, render.ErrForeign, old.Name, old.Cluster, inv.Name, inv.Cluster)
	}
	return names, nil
}

// MissingImages returns the paths of the kernels and initrds that belong below the folder and are not
// there.
func (n *Netboot) MissingImages(r *media.Result) (missing []string) {
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

// ServeCommand returns the command by which kiln serve serves the folder and the output folder dir, or
// nothing if it cannot: it needs an address of plain HTTP without a path. Its certificate for https is
// one that no image trusts.
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
		dir, n.Out, net.JoinHostPort(host, cmp.Or(u.Port(), "80")), network)
}

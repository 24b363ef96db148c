package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/git"
	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/twin"
	"kiln/render"
	"kiln/render/media"
)

type netbootFlags struct {
	out, url, ignition, matchbox, output   string
	kernel, initrd, rootfs, appended, disk []string
}

func netbootCommand() *cobra.Command {
	var f netbootFlags
	cmd := &cobra.Command{
		Use:   "netboot DIR --url URL --out DIR",
		Short: "Write what machines need to boot over the network: iPXE scripts, initrds, Matchbox's data",
		Long: "Write what machines need to boot over the network, from the folder that kiln render wrote: an iPXE script for each machine by its MAC (nodes[].mac), the\n" +
			"documents, initrds with Ignition's configurations, Matchbox's groups and profiles. Any web server that serves the folder as URL does; the kernels and initrds\n" +
			"of the operating systems go below it, into images/OS, unless flags name them. An address without a scheme is below URL, and iPXE's variables\n" +
			"may stand in it. The folder holds the machines' secrets (0600), unless their documents have none.",
		Example: `  kiln netboot nodes --url http://10.0.0.5:8080 --out ./netboot
  kiln netboot nodes --url http://10.0.0.5:8080 --out ./netboot --kernel 'flatcar=http://images.example.com/${buildarch}/vmlinuz' --initrd 'flatcar=http://images.example.com/${buildarch}/initrd'
  kiln netboot nodes --url http://10.0.0.5:8080 --out ./netboot --install-dev /dev/sda --append fedora-coreos=console=ttyS0`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := f.wrong(); err != nil {
				return err
			}
			return f.run(cmd, list[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "the folder for the files (0700; its files 0600, for they hold secrets)")
	flags.StringVar(&f.url, "url", "", "where the folder is served from, http or https")
	flags.StringArrayVar(&f.kernel, "kernel", nil, "a kernel's address, [OS=]URL (default: images/OS/ and the vendor's name)")
	flags.StringArrayVar(&f.initrd, "initrd", nil, "an initrd's address, [OS=]URL; may be given several times (default: images/OS/ and the vendor's name)")
	flags.StringArrayVar(&f.rootfs, "rootfs", nil, "the address of Fedora CoreOS's root file system, [OS=]URL (default: images/OS/live-rootfs.img)")
	flags.StringArrayVar(&f.appended, "append", nil, "more arguments for a kernel, [OS=]ARGUMENTS")
	flags.StringVar(&f.ignition, "ignition", "url", "how Ignition's configurations arrive: url (over HTTP, by the machine) or initrd (with the kernel, by iPXE)")
	flags.StringArrayVar(&f.disk, "install-dev", nil, "the disk that Fedora CoreOS installs itself to, [NODE=]/dev/… (default: it runs from RAM)")
	flags.StringVar(&f.matchbox, "matchbox", "", "the address of a Matchbox that serves Ignition's configurations (default: --url does)")
	flags.StringVarP(&f.output, "output", "o", "text", "the report's form: text or json")
	return cmd
}

// wrong returns what is wrong with the flags by themselves.
func (f *netbootFlags) wrong() error {
	if f.url == "" || f.out == "" {
		return usageError{errors.Join(required("url", f.url, "http://10.0.0.5:8080"), required("out", f.out, "./netboot"))}
	}
	for _, flag := range []struct {
		name  string
		value *string
	}{{"url", &f.url}, {"matchbox", &f.matchbox}} {
		*flag.value = strings.TrimRight(*flag.value, "/")
		if *flag.value == "" {
			continue
		}
		if err := media.Address(*flag.value); err != nil {
			shown := *flag.value
			if at := strings.LastIndexByte(shown, '@'); at >= 0 { // before it stands a password
				shown = "…" + shown[at:]
			}
			return usageError{fmt.Errorf("--%s %s: %w", flag.name, shown, err)}
		}
	}
	switch {
	case f.ignition != "url" && f.ignition != "initrd":
		return usageError{fmt.Errorf("--ignition %s: want url or initrd", f.ignition)}
	case f.ignition == "initrd" && f.matchbox != "":
		return usageError{errors.New("--matchbox is for configurations over HTTP, and --ignition initrd for those that come with the kernel; leave one out")}
	}
	return outputFlag(f.output)
}

func (f *netbootFlags) run(cmd *cobra.Command, name string) error {
	if err := twin.CheckOutside("out", f.out); err != nil {
		return err
	}
	dir, inv, entries, err := render.Rendered(name)
	if err != nil {
		return err
	}
	if len(entries) != len(inv.Documents) {
		return fmt.Errorf("%s: the folder of one machine; name %s: the scripts belong together", name, dir)
	}
	n := &media.Netboot{Cluster: inv.Name, ID: inv.Cluster, URL: f.url, Initrd: f.ignition == "initrd", Matchbox: f.matchbox}
	if err := f.settings(n, entries); err != nil {
		return usageError{err}
	}
	result := &media.Result{}
	changes, err := f.write(n.Files(delivered(dir, entries), result), inv)
	if err != nil {
		return err
	}
	message.Notes(cmd.ErrOrStderr(), git.KeepOut(".", git.Secret{Name: f.out, Folder: true}))
	message.Notes(cmd.ErrOrStderr(), f.exposure(entries))
	for _, s := range result.Skipped {
		message.Printf(cmd.ErrOrStderr(), "kiln: no script: %s\n", s)
	}
	if err := f.report(cmd.OutOrStdout(), name, entries, result, changes); err != nil {
		return reportError{err}
	}
	return nil
}

// skipped says of each machine without a script why.
func skipped(r *media.Result) (lines []string) {
	for _, s := range r.Skipped {
		lines = append(lines, s.String())
	}
	return lines
}

// held says whose secrets are in the documents.
func held(entries []render.Entry) string {
	switch n := len(secretive(entries)); n {
	case 0:
		return ", with no machine's secrets"
	case len(entries):
		return ", with every machine's secrets"
	default:
		return fmt.Sprintf(", with the secrets of %d of %s", n, message.Count(len(entries), "machine"))
	}
}

// report says what was made of the rendered folder dir, and what comes next.
func (f *netbootFlags) report(out io.Writer, dir string, entries []render.Entry, r *media.Result, c *render.Changes) error {
	images := f.images(r)
	if f.output == "json" {
		return message.JSON(out, struct {
			Folder    string       `json:"folder"`
			Machines  []media.Boot `json:"machines"`
			NoScript  []string     `json:"noScript"`
			Images    []string     `json:"missingImages"`
			Written   []string     `json:"written"`
			Removed   []string     `json:"removed"`
			Unchanged int          `json:"unchanged"`
		}{f.out, r.Boots, message.NonNil(skipped(r)), message.NonNil(images), message.NonNil(c.Written), message.NonNil(c.Removed), c.Unchanged})
	}
	scripts := 0
	for _, b := range r.Boots {
		if b.Script != "" {
			scripts++
		}
	}
	for _, name := range c.Removed {
		message.Printf(out, "removed %s\n", filepath.Join(f.out, name))
	}
	message.Printf(out, "%s, %d files written, %d unchanged in %s%s; next:\n", message.Count(scripts, "script"), len(c.Written), c.Unchanged, f.out, held(entries))
	for _, name := range images {
		message.Printf(out, "  put the system's image there: %s\n", filepath.Join(f.out, name))
	}
	message.Printf(out, "  serve %s as %s, to the machines alone%s\n", f.out, f.url, f.serving(dir))
	message.Printf(out, "  have DHCP tell iPXE to load %s/boot.ipxe\n", f.url)
	return nil
}

// serving is how kiln serve does it, if it can: with an address of plain HTTP and no path. The
// certificate that it has for https is none that an image trusts.
func (f *netbootFlags) serving(dir string) string {
	u, err := url.Parse(f.url)
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
	return fmt.Sprintf("; --from names the network that DHCP gives them, for example:\n    kiln serve %s %s --listen %s --plain-http --from %s",
		dir, f.out, net.JoinHostPort(host, cmp.Or(u.Port(), "80")), network)
}

// images are the paths of images that are to be below the folder, and are not.
func (f *netbootFlags) images(r *media.Result) (missing []string) {
	for _, b := range r.Boots {
		for _, name := range b.Images {
			if _, err := os.Stat(filepath.Join(f.out, name)); err != nil && !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
		}
	}
	return missing
}

package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/bootmedia"
	"kiln/cmd/kiln/git"
	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/twin"
	"kiln/render"
	"kiln/render/media"
)

type netbootFlags struct {
	bootmedia.Netboot
	ignition, output string
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
			if err := f.check(); err != nil {
				return err
			}
			return f.run(cmd, list[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Out, "out", "", "the folder for the files (0700; its files 0600, for they hold secrets)")
	flags.StringVar(&f.URL, "url", "", "where the folder is served from, http or https")
	flags.StringArrayVar(&f.Kernel, "kernel", nil, "a kernel's address, [OS=]URL (default: images/OS/ and the vendor's name)")
	flags.StringArrayVar(&f.Initrds, "initrd", nil, "an initrd's address, [OS=]URL; may be given several times (default: images/OS/ and the vendor's name)")
	flags.StringArrayVar(&f.RootFS, "rootfs", nil, "the address of Fedora CoreOS's root file system, [OS=]URL (default: images/OS/live-rootfs.img)")
	flags.StringArrayVar(&f.Append, "append", nil, "more arguments for a kernel, [OS=]ARGUMENTS")
	flags.StringVar(&f.ignition, "ignition", "url", "how Ignition's configurations arrive: url (over HTTP, by the machine) or initrd (with the kernel, by iPXE)")
	flags.StringArrayVar(&f.InstallDev, "install-dev", nil, "the disk that Fedora CoreOS installs itself to, [NODE=]/dev/… (default: it runs from RAM)")
	flags.StringVar(&f.Matchbox, "matchbox", "", "the address of a Matchbox that serves Ignition's configurations (default: --url does)")
	flags.StringVarP(&f.output, "output", "o", "text", "the report's form: text or json")
	return cmd
}

// check returns an error if flags are missing or wrong by themselves, and completes them.
func (f *netbootFlags) check() error {
	if f.URL == "" || f.Out == "" {
		return usageError{errors.Join(required("url", f.URL, "http://10.0.0.5:8080"), required("out", f.Out, "./netboot"))}
	}
	for _, flag := range []struct {
		name  string
		value *string
	}{{"url", &f.URL}, {"matchbox", &f.Matchbox}} {
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
	f.Initrd = f.ignition == "initrd"
	switch {
	case f.ignition != "url" && !f.Initrd:
		return usageError{fmt.Errorf("--ignition %s: want url or initrd", f.ignition)}
	case f.Initrd && f.Matchbox != "":
		return usageError{errors.New("--matchbox is for configurations over HTTP, and --ignition initrd for those that come with the kernel; leave one out")}
	}
	return outputFlag(f.output)
}

func (f *netbootFlags) run(cmd *cobra.Command, name string) error {
	if err := twin.CheckOutside("out", f.Out); err != nil {
		return err
	}
	dir, inv, entries, err := render.Rendered(name)
	if err != nil {
		return err
	}
	if len(entries) != len(inv.Documents) {
		return fmt.Errorf("%s: the folder of one machine; name %s: the scripts belong together", name, dir)
	}
	if err := f.Prepare(inv); err != nil {
		return usageError{err}
	}
	result, changes, err := f.Write(dir, inv)
	if err != nil {
		return err
	}
	messages := cmd.ErrOrStderr()
	message.Notes(messages, git.KeepOut(".", git.Secret{Name: f.Out, Folder: true}))
	message.Notes(messages, f.Exposure(entries))
	for _, s := range result.Skipped {
		message.Printf(messages, "kiln: no script: %s\n", s)
	}
	if err := f.report(cmd.OutOrStdout(), name, entries, result, changes); err != nil {
		return reportError{err}
	}
	return nil
}

// report says what was made of the rendered folder dir, and what comes next.
func (f *netbootFlags) report(out io.Writer, dir string, entries []render.Entry, r *media.Result, c *render.Changes) error {
	images := f.MissingImages(r)
	if f.output == "json" {
		return message.JSON(out, struct {
			Folder    string       `json:"folder"`
			Machines  []media.Boot `json:"machines"`
			NoScript  []string     `json:"noScript"`
			Images    []string     `json:"missingImages"`
			Written   []string     `json:"written"`
			Removed   []string     `json:"removed"`
			Unchanged int          `json:"unchanged"`
		}{
			f.Out, r.Boots, message.NonNil(skipped(r)), message.NonNil(images),
			message.NonNil(c.Written), message.NonNil(c.Removed), c.Unchanged,
		})
	}
	scripts := 0
	for _, b := range r.Boots {
		if b.Script != "" {
			scripts++
		}
	}
	for _, name := range c.Removed {
		message.Printf(out, "removed %s\n", filepath.Join(f.Out, name))
	}
	message.Printf(out, "%s, %d files written, %d unchanged in %s%s; next:\n",
		message.Count(scripts, "script"), len(c.Written), c.Unchanged, f.Out, holders(entries))
	for _, name := range images {
		message.Printf(out, "  put the system's image there: %s\n", filepath.Join(f.Out, name))
	}
	serve := f.ServeCommand(dir)
	if serve != "" {
		serve = "; --from names the network that DHCP gives them, for example:\n    " + serve
	}
	message.Printf(out, "  serve %s as %s, to the machines alone%s\n", f.Out, f.URL, serve)
	message.Printf(out, "  have DHCP tell iPXE to load %s/boot.ipxe\n", f.URL)
	return nil
}

// skipped returns a line for each machine without a script, with the reason.
func skipped(r *media.Result) (lines []string) {
	for _, s := range r.Skipped {
		lines = append(lines, s.String())
	}
	return lines
}

// holders says whose secrets are in the documents.
func holders(entries []render.Entry) string {
	switch n := len(bootmedia.WithSecrets(entries)); n {
	case 0:
		return ", with no machine's secrets"
	case len(entries):
		return ", with every machine's secrets"
	default:
		return fmt.Sprintf(", with the secrets of %d of %s", n, message.Count(len(entries), "machine"))
	}
}

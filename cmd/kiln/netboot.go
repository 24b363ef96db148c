package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/boot/bootmedia"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render"
)

type netbootFlags struct {
	bootmedia.Netboot
	ignition, form string
}

func netbootCommand() *cobra.Command {
	var f netbootFlags
	cmd := &cobra.Command{
		Use:   "netboot DIR --url URL --out DIR",
		Short: "Write the files that machines need to boot over the network",
		Long: `Write the files that machines need to boot over the network, from the folder that
kiln render wrote: an iPXE script for each machine, found by its MAC address
(nodes[].mac); the documents; initrds with Ignition's configurations; the groups and
profiles of Matchbox. Let any web server serve the folder --out at the address
--url. The folder holds the machines' secrets (mode 0600), unless their documents
have none.

Put the kernels and initrds of the operating systems into images/OS in that folder,
or name their addresses with flags. An address without a scheme continues URL. An
address may hold variables of iPXE.`,
		Example: `  kiln netboot nodes --url http://10.0.0.5:8080 --out ./netboot
  kiln netboot nodes --url http://10.0.0.5:8080 --out ./netboot \
    --kernel 'flatcar=http://images.example.com/${buildarch}/vmlinuz' \
    --initrd 'flatcar=http://images.example.com/${buildarch}/initrd'
  kiln netboot nodes --url http://10.0.0.5:8080 --out ./netboot \
    --install-dev /dev/sda --append fedora-coreos=console=ttyS0`,
		Args: term.TakeArgs(1, 1, "the folder that kiln render wrote",
			"kiln netboot nodes --url http://10.0.0.5:8080 --out ./netboot"),
		RunE: func(cmd *cobra.Command, list []string) error { return f.run(cmd, list[0]) },
	}
	f.add(cmd)
	return cmd
}

func (f *netbootFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Out, "out", "", "write the files into the folder `DIR` "+
		"(mode 0700; its files 0600, because they hold secrets)")
	flags.StringVar(&f.URL, "url", "", "boot machines from the folder at `URL`, http or https")
	flags.StringArrayVar(&f.Kernel, "kernel", nil, "load the kernel from `[OS=]URL` "+
		"(default: images/OS/ and the vendor's name)")
	flags.StringArrayVar(&f.Initrds, "initrd", nil, "load an initrd from `[OS=]URL`; "+
		"may be given several times (default: images/OS/ and the vendor's name)")
	flags.StringArrayVar(&f.RootFS, "rootfs", nil, "load the root file system of Fedora CoreOS "+
		"from `[OS=]URL` (default: images/OS/live-rootfs.img)")
	flags.StringArrayVar(&f.Append, "append", nil, "add `[OS=]ARGUMENTS` to those of the kernel")
	flags.StringVar(&f.ignition, "ignition", "url", "deliver Ignition's configurations in this "+
		"`WAY`: url (the machine fetches them over HTTP) or initrd (iPXE loads them with the "+
		"kernel)")
	flags.StringArrayVar(&f.InstallDev, "install-dev", nil, "install Flatcar and Fedora CoreOS "+
		"to `[NODE=]DISK`, such as /dev/sda (default: they run from RAM)")
	flags.StringVar(&f.InstallImage, "install-image", "", "install Flatcar from the image at "+
		"`URL`, with its signature beside it (default: images/flatcar/ and the vendor's name)")
	flags.StringVar(&f.Matchbox, "matchbox", "", "let the Matchbox at `URL` serve Ignition's "+
		"configurations (default: the URL of --url does)")
	term.OutputFlag(cmd, &f.form, "report")
}

// check returns an error if flags are missing or wrong by themselves, and completes them.
func (f *netbootFlags) check() error {
	if f.URL == "" || f.Out == "" {
		return term.UsageError{Err: errors.Join(
			term.CheckGiven("url", f.URL, "http://10.0.0.5:8080"),
			term.CheckGiven("out", f.Out, "./netboot"),
		)}
	}
	if err := f.CheckAddresses(); err != nil {
		return term.UsageError{Err: err}
	}
	f.Initrd = f.ignition == "initrd"
	switch {
	case f.ignition != "url" && !f.Initrd:
		return term.UsageErrorf("--ignition %s: want url or initrd", f.ignition)
	case f.Initrd && f.Matchbox != "":
		return term.UsageErrorf("--matchbox is for configurations over HTTP, and " +
			"--ignition initrd for those that come with the kernel; leave one out")
	}
	return nil
}

func (f *netbootFlags) run(cmd *cobra.Command, name string) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := vault.CheckOutside("out", f.Out); err != nil {
		return err
	}
	dir, inv, entries, err := render.Rendered(name)
	if err != nil {
		return err
	}
	if len(entries) != len(inv.Documents) {
		return fmt.Errorf("%s: the folder of one machine; name %s, "+
			"because the scripts belong together", name, dir)
	}
	if err := f.Prepare(inv); err != nil {
		return term.UsageError{Err: err}
	}
	result, changes, err := f.Write(dir, inv)
	if err != nil {
		return err
	}
	messages := cmd.ErrOrStderr()
	term.Notes(messages, vault.KeepOutOfGit(".", vault.SecretFile{Name: f.Out, Folder: true}))
	term.Notes(messages, f.Exposure(entries))
	term.Each(messages, "kiln: no script: %s\n", result.Skipped)
	if f.form == "json" {
		err = f.ReportJSON(cmd.OutOrStdout(), result, changes)
	} else {
		f.Report(cmd.OutOrStdout(), name, entries, result, changes)
	}
	if err != nil {
		return term.ReportError{Err: err}
	}
	return nil
}

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/boot/bootmedia"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render"
)

type isoFlags struct{ out, form string }

func isoCommand() *cobra.Command {
	var f isoFlags
	cmd := &cobra.Command{
		Use:   "iso DIR/NODE... [--out FILE]",
		Short: "Write the disk image that a machine reads its boot document from",
		Long: `Write the ISO 9660 image that a machine reads its boot document from. For cloud-init
it is the seed of NoCloud (label cidata); for Ignition it is the disk that the
machine's platform reads. DIR/NODE is the folder of a machine, as kiln render wrote
it; DIR alone means all machines. The images lie beside the folders, unless --out
names another place. They hold the machines' secrets (mode 0600); in
the delivery modes split and pointer the bodies hold these.`,
		Example: `  kiln iso nodes/worker-1
  kiln iso nodes/cp-1 --out /var/lib/libvirt/images/cp-1-seed.iso
  kiln iso nodes --out ./images`,
		Args: term.TakeArgs(1, 0, "the folder of a machine or of all machines", "kiln iso nodes"),
		RunE: func(cmd *cobra.Command, list []string) error { return f.run(cmd, list) },
	}
	cmd.Flags().StringVar(&f.out, "out", "", "write the image to `FILE`; for several images, or "+
		"if FILE is a folder, write them into it (default: DIR/NODE.iso)")
	term.OutputFlag(cmd, &f.form, "report")
	return cmd
}

func (f *isoFlags) run(cmd *cobra.Command, names []string) error {
	dir, entries, err := selectMachines(names)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := vault.CheckOutside("out", f.out); err != nil {
			return err
		}
	}
	images := &bootmedia.Images{Dir: dir, Machines: entries, Out: f.out}
	written, err := images.Write()
	if err != nil {
		return err
	}
	term.Notes(cmd.ErrOrStderr(), vault.KeepOutOfGit(".", images.Secrets(written)...))
	if f.form == "json" {
		err = term.JSON(cmd.OutOrStdout(), written)
	} else {
		err = bootmedia.ReportISOs(cmd.OutOrStdout(), written, entries)
	}
	if err != nil {
		return term.ReportError{Err: err}
	}
	return nil
}

// selectMachines returns the machines that the names stand for: each once, in the order of the
// names. A name is the folder of a machine, or an output folder, which stands for all its machines.
// It fails if the machines are not all in one output folder, dir.
func selectMachines(names []string) (dir string, entries []render.Entry, err error) {
	var errs []error
	seen := map[string]bool{}
	for _, name := range names {
		at, _, found, err := render.Rendered(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if dir == "" {
			dir = at
		} else if term.AbsolutePath(dir) != term.AbsolutePath(at) {
			return "", nil, term.UsageErrorf("%s and %s: machines of two renderings; "+
				"call kiln once for each", dir, at)
		}
		for i := range found {
			if !seen[found[i].Document] {
				seen[found[i].Document] = true
				entries = append(entries, found[i])
			}
		}
	}
	return dir, entries, errors.Join(errs...)
}

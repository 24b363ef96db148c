package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/git"
	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/paths"
	"kiln/cmd/kiln/twin"
	"kiln/render"
	"kiln/render/folder"
	"kiln/render/media"
	"kiln/render/media/iso9660"
)

type isoFlags struct{ out, output string }

func isoCommand() *cobra.Command {
	var f isoFlags
	cmd := &cobra.Command{
		Use:   "iso DIR/NODE... [--out FILE]",
		Short: "Write the disk image that a machine reads its boot document from",
		Long: "Write the ISO 9660 image that a machine reads its boot document from: NoCloud's seed (label cidata) for cloud-init, and for Ignition what the machine's\n" +
			"platform reads. DIR/NODE is a machine's folder as kiln render wrote it; DIR alone means all machines. The images lie beside the folders unless --out\n" +
			"says where. They hold the machines' secrets (0600).",
		Example: `  kiln iso nodes/worker-1
  kiln iso nodes/cp-1 --out /var/lib/libvirt/images/cp-1-seed.iso
  kiln iso nodes --out ./images`,
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			if err := outputFlag(f.output); err != nil {
				return err
			}
			return f.run(cmd, list)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "the image; of several machines, or if it is there already, the folder for them (default: DIR/NODE.iso)")
	flags.StringVarP(&f.output, "output", "o", "text", "the report's form: text or json")
	return cmd
}

// image is an image that was written.
type image struct {
	Node  string `json:"node"`
	Pool  bool   `json:"pool,omitempty"`
	Image string `json:"image"`
	Label string `json:"label"`
	Bytes int    `json:"bytes"`
}

func (f *isoFlags) run(cmd *cobra.Command, names []string) error {
	dir, entries, err := named(names)
	if err != nil {
		return err
	}
	out, name, err := f.target(dir, len(entries))
	if err == nil && f.out != "" {
		err = twin.CheckOutside("out", f.out)
	}
	if err != nil {
		return err
	}
	var images []image
	var able []string // folders of the machines that read a disk
	unable := 0       // machines that read none
	files := func(yield func(render.Output, error) bool) {
		for m, err := range delivered(dir, entries) {
			var file render.Output
			var label string
			if err == nil {
				label, file.Data, err = m.Image()
				if err == nil {
					able = append(able, filepath.Join(dir, m.Dir))
				} else {
					unable++
				}
				file.Name = name(m)
				place := filepath.Join(out, file.Name)
				err = errors.Join(err, ours(place))
				images = append(images, image{m.Name, m.Pool, place, label, len(file.Data)})
			}
			if !yield(file, err) {
				return
			}
		}
	}
	if _, err := render.WriteFiles(render.Files{Dir: out, Files: files}); err != nil {
		if len(able)+unable == len(entries) { // nothing else is wrong with them
			err = errors.Join(err, f.others(able, unable))
		}
		return err
	}
	message.Notes(cmd.ErrOrStderr(), git.KeepOut(".", outputs(out, f.out, images)...))
	if err := f.report(cmd.OutOrStdout(), images); err != nil {
		return reportError{err}
	}
	return nil
}

// others returns what else can be done if some machines read a disk and some do not.
func (f *isoFlags) others(able []string, unable int) error {
	if len(able) == 0 || unable == 0 {
		return nil
	}
	command := "kiln iso " + strings.Join(able[:min(len(able), message.MaxNamed)], " ")
	if len(able) > message.MaxNamed {
		command += " …"
	}
	if f.out != "" {
		command += " --out " + f.out
	}
	return fmt.Errorf("of the machines named, these read a disk; name them alone: %s", command)
}

// outputs returns what is to stay out of git: the folder out of the images, if it is one for them.
// It is not if the flag names one image, or if the folder is the working directory or above it.
func outputs(out, flag string, images []image) []git.Secret {
	if info, err := os.Stat(flag); (flag == "" || err == nil && info.IsDir()) && !paths.Within(out, ".") && paths.Resolve(out) != paths.Resolve(".") {
		return []git.Secret{{Name: out, Folder: true}}
	}
	var list []git.Secret
	for _, i := range images {
		list = append(list, git.Secret{Name: i.Image})
	}
	return list
}

// target is the folder for so many images of the machines in dir, and the name of each in it.
func (f *isoFlags) target(dir string, images int) (string, func(*media.Machine) string, error) {
	own := func(m *media.Machine) string { return m.Dir + ".iso" }
	if f.out == "" {
		return dir, own, nil
	}
	info, err := os.Stat(f.out)
	switch {
	case err == nil && info.IsDir() || err != nil && images > 1:
		return f.out, own, nil
	case images > 1:
		return "", nil, fmt.Errorf("%s: not a folder, and %d images need one; name a folder with --out", f.out, images)
	}
	return filepath.Dir(f.out), func(*media.Machine) string { return filepath.Base(f.out) }, nil
}

func (f *isoFlags) report(out io.Writer, images []image) error {
	if f.output == "json" {
		return message.JSON(out, images)
	}
	if len(images) <= message.MaxListed {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, i := range images {
			message.Printf(table, "%s\tlabel %s\t%d bytes\n", i.Image, i.Label, i.Bytes)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	message.Printf(out, "%s with secrets; next: attach a machine's image to that machine alone, as a CD or a disk\n", message.Count(len(images), "image"))
	return nil
}

// ours returns why what lies at a path is not to be replaced, or nil if there is nothing, or an
// image of kiln's.
func ours(name string) error {
	image, err := folder.Read(name, maxImage)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// What is shorter than a head is no image, and what cannot be read is none of kiln's.
	if err != nil || !iso9660.Made(append(image, make([]byte, iso9660.HeadSize)...)[:iso9660.HeadSize]) {
		return fmt.Errorf("%s: not an image that kiln made; it is not replaced: name another file with --out", name)
	}
	return nil
}

// maxImage bounds an image that is there already.
const maxImage = 256 << 20

package bootmedia

import (
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"kiln.dev/kiln/cmd/kiln/boot/media"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/text/wording"
)

// Report prints what was made from the output folder dir, and the next steps.
func (n *Netboot) Report(
	out io.Writer, dir string, entries []render.Entry, r *media.Result, c *render.Changes,
) {
	scripts := 0
	for _, b := range r.Boots {
		if b.Script != "" {
			scripts++
		}
	}
	for _, name := range c.Removed {
		term.Printf(out, "removed %s\n", filepath.Join(n.Out, name))
	}
	term.Printf(out, "%s, %s written, %d unchanged in %s%s; next:\n",
		wording.Count(scripts, "script"), wording.Count(len(c.Written), "file"), c.Unchanged,
		n.Out, holders(entries))
	for _, name := range n.MissingKernels(r) {
		term.Printf(out, "  put the system's image there: %s\n", filepath.Join(n.Out, name))
	}
	serve := n.ServeCommand(dir)
	if serve != "" {
		serve = "; --from names the network that DHCP gives them, for example:\n    " + serve
	}
	term.Printf(out, "  serve %s as %s, to the machines alone%s\n", n.Out, n.URL, serve)
	term.Printf(out, "  have DHCP tell iPXE to load %s/boot.ipxe\n", n.URL)
}

// ReportJSON prints the report for programs. It fails if out does.
func (n *Netboot) ReportJSON(out io.Writer, r *media.Result, c *render.Changes) error {
	noScript := []string{}
	for _, s := range r.Skipped {
		noScript = append(noScript, s.String())
	}
	return term.JSON(out, struct {
		Folder    string       `json:"folder"`
		Machines  []media.Boot `json:"machines"`
		NoScript  []string     `json:"noScript"`
		Missing   []string     `json:"missingImages"`
		Written   []string     `json:"written"`
		Removed   []string     `json:"removed"`
		Unchanged int          `json:"unchanged"`
	}{
		n.Out, r.Boots, noScript, term.NonNil(n.MissingKernels(r)),
		term.NonNil(c.Written), term.NonNil(c.Removed), c.Unchanged,
	})
}

// holders returns words for the machines whose documents hold secrets.
func holders(entries []render.Entry) string {
	switch holding := len(WithSecrets(entries)); holding {
	case 0:
		return ", with no machine's secrets"
	case len(entries):
		return ", with every machine's secrets"
	default:
		machines := wording.Count(len(entries), "machine")
		return fmt.Sprintf(", with the secrets of %d of %s", holding, machines)
	}
}

// ReportISOs prints the disk images, at most term.MaxListed, whether the documents in them hold
// secrets, and the next step. It fails if out does.
func ReportISOs(out io.Writer, images []Image, entries []render.Entry) error {
	if len(images) <= term.MaxListed {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, i := range images {
			term.Printf(table, "%s\tlabel %s\t%d bytes\n",
				term.OneLine(out, i.Path), i.Label, i.Bytes)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	var secrets string
	switch holding := len(WithSecrets(entries)); holding {
	case 0:
		secrets = " without secrets"
	case len(entries):
		secrets = " with secrets"
	default:
		secrets = fmt.Sprintf(", %d of them with secrets", holding)
	}
	term.Printf(out, "%s%s; "+
		"next: attach a machine's image to that machine alone, as a CD or a disk\n",
		wording.Count(len(images), "image"), secrets)
	return nil
}

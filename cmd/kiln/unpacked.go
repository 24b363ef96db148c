// This file prints what kiln unpack found in a document.

package main

import (
	"io"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/text/wording"
)

// unpackedReport is how and where a machine is printed.
type unpackedReport struct {
	Stdout, Stderr io.Writer

	Out         string // the folder to write all files to; "" prints instead
	Tree        bool   // print a tree instead of a list
	JSON        bool   // print JSON instead of text
	ShowSecrets bool
}

// Print prints the machine, or the content of the files with these paths, or writes all files.
func (r *unpackedReport) Print(u *render.Unpacked, paths []string) error {
	if r.ShowSecrets {
		u.ShowSecrets()
	}
	if b := u.Missing(); b != nil {
		term.Printf(r.Stderr, "kiln: this is not all of the machine: it fetches the rest from "+
			"%s, and the rest is not here (SHA-512 %.16s…); name its file with --body\n",
			b.URL, b.SHA512)
	}
	switch {
	case r.Out != "":
		return r.write(u)
	case len(paths) > 0:
		return r.contents(u, paths)
	case r.JSON:
		return term.JSON(r.Stdout, u.Machine())
	}
	list := u.List()
	if r.Tree {
		list = u.Tree()
	}
	if r.ShowSecrets {
		term.Printf(r.Stderr, "kiln: secrets in the machine's settings are shown; "+
			"the contents of its files are not: name them, or --out\n")
	}
	_, err := r.Stdout.Write(list)
	return err
}

// contents prints the content of files.
func (r *unpackedReport) contents(u *render.Unpacked, paths []string) error {
	contents, secrets, err := u.Contents(paths)
	if err != nil {
		return err
	}
	r.warn(secrets)
	if r.JSON {
		files, err := u.Files(paths)
		if err != nil {
			return err
		}
		return term.JSON(r.Stdout, files)
	}
	_, err = term.Raw(r.Stdout, false).Write(contents)
	return err
}

// write writes all files into the folder Out.
func (r *unpackedReport) write(u *render.Unpacked) error {
	if r.ShowSecrets {
		if err := vault.CheckOutside("out", r.Out); err != nil {
			return err
		}
	}
	secrets, err := render.WriteUnpacked(u, r.Out)
	if err != nil {
		return err
	}
	r.warn(secrets)
	files := len(u.Machine().Files)
	if r.JSON {
		return term.JSON(r.Stdout, struct {
			Folder  string `json:"folder"`
			Files   int    `json:"files"`
			Secrets int    `json:"secrets"`
			Shown   bool   `json:"shown"`
		}{r.Out, files, secrets, r.ShowSecrets})
	}
	term.Printf(r.Stdout, "%s in %s; INDEX has their modes and owners, and the units\n",
		wording.Count(files, "file"), r.Out)
	return nil
}

// warn prints the number of files with secrets, and whether these are shown.
func (r *unpackedReport) warn(secrets int) {
	files := wording.Count(secrets, "file")
	switch {
	case secrets == 0:
	case r.ShowSecrets:
		term.Printf(r.Stderr, "kiln: %s with secrets of the machine: keep them like the "+
			"machine itself, and out of git and logs\n", files)
	default:
		term.Printf(r.Stderr, "kiln: the content of %s is not shown, because it is secret "+
			"or may be; --show-secrets shows it\n", files)
	}
}

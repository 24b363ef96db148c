// Package state reads the states of a cluster that diff, plan and report compare.
package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// Forms lists the forms of two states, for the help of a verb.
const Forms = "A and B are each\n" + forms

// OneForms lists the forms of one state.
const OneForms = "STATE is one of\n" + forms

const forms = `  a review twin           review
  a revision of a twin    main:review, as git show understands it
  a configuration         cluster.yaml; its bundle or the public half lies beside it,
                          or a flag names it
  a folder of documents   nodes`

// Reader reads states.
type Reader struct {
	Bundle   vault.Source // the bundle of configurations
	Messages io.Writer    // the screen that shows the progress
}

// Named reads a state, and names it and its folder of documents as words of a shell.
func (r *Reader) Named(arg string) (rollout.State, error) {
	c, err := r.Read(arg)
	s := rollout.State{Name: wording.ShellWord(arg), Cluster: c}
	if info, err := os.Stat(arg); err == nil && info.IsDir() && !render.IsTwin(arg) {
		s.Documents = wording.ShellWord(filepath.Clean(arg))
	}
	return s, err
}

// IsTwin reports whether a folder holds a review twin.
func IsTwin(folder string) bool { return render.IsTwin(folder) }

// Read reads a state in one of the Forms.
func (r *Reader) Read(arg string) (*change.Cluster, error) {
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir() && render.IsTwin(arg):
		c, err := render.TwinState(arg)
		return c, withRemedy(err)
	case err == nil && info.IsDir() && !term.AbsentPath(filepath.Join(arg, render.InventoryFile)):
		c, err := render.DocumentsState(arg)
		return c, withRemedy(err)
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s: neither a review twin (%s) nor a folder of documents (%s); "+
			"name the folder of --review or --out", arg, render.IndexFile, render.InventoryFile)
	case err == nil:
		c, err := r.Public(&folder.Input{Path: arg})
		if err != nil {
			return nil, err
		}
		return r.Render(c)
	case strings.Contains(arg, ":"):
		return readRevision(arg)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file or directory; name a review twin, a revision of "+
			"one like main:review, a configuration, or a folder of documents; kiln render makes "+
			"a twin with --review, and documents with --out", arg)
	}
	return nil, fmt.Errorf("%w; make it readable, or name another state", err)
}

// withRemedy adds what to do to the error of a twin or of a folder of documents that somebody
// changed: a file is missing, or a list is cut off.
func withRemedy(err error) error {
	var path *fs.PathError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &path) && errors.Is(err, fs.ErrNotExist):
		before, _, _ := strings.Cut(err.Error(), path.Error())
		return fmt.Errorf("%s%s is missing; render the folder again, or restore it",
			before, path.Path)
	case errors.As(err, &syntax):
		return fmt.Errorf("%w; render the folder again, or restore it", err)
	}
	return err
}

// readRevision reads the review twin that a revision of git has, REV:PATH.
func readRevision(tree string) (*change.Cluster, error) {
	files, err := vault.ReadRevision(tree)
	if err != nil {
		return nil, err
	}
	c, err := render.FilesState(files)
	if err != nil {
		return nil, withRemedy(fmt.Errorf("%s: %w", tree, err))
	}
	return c, nil
}

// Render returns the state that a configuration would be rendered to.
func (r *Reader) Render(c *render.Cluster) (*change.Cluster, error) {
	progress, finish := term.Progress(r.Messages, c.Machines())
	defer finish()
	return c.State(progress)
}

// Public returns the cluster of a configuration without its secrets.
func (r *Reader) Public(s *folder.Input) (*render.Cluster, error) {
	c, err := render.ConfigPublic(s)
	if err != nil {
		return nil, err
	}
	half, _, err := r.Bundle.Half(s.Path, c.Metadata.Name)
	if err != nil {
		return nil, err
	}
	return render.NewPublic(c, half)
}

// Whole returns the cluster of a configuration: with its secrets if the bundle exists, and without
// them if only its public half does or --public names it.
func (r *Reader) Whole(s *folder.Input) (*render.Cluster, error) {
	c, err := render.ConfigPublic(s)
	if err != nil {
		return nil, err
	}
	name := c.Metadata.Name
	if !r.Bundle.HasBundle(s.Path, name) {
		return r.Public(s)
	}
	if c, err = render.Config(s); err != nil {
		return nil, err
	}
	b, err := r.Bundle.Bundle(s.Path, name)
	if err != nil {
		return nil, err
	}
	return render.New(c, b)
}

// Package lock finds out the SHA-256 and the size of what machines fetch, and the digests of the
// images that they run. It is the one part of kiln that opens connections, and nothing that renders
// imports it.
package lock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"

	"kiln.dev/kiln/render/facts/target"
)

// Locker makes and checks locks.
type Locker struct {
	Options
	client     *client
	registries registries
	saved      *saved // where files are kept; nil if they are not
}

// Options say whom a Locker asks.
type Options struct {
	// Mirror takes the place of scheme and host in the URL of each file, unless it is empty. The
	// lock has the URLs of the projects in any case.
	Mirror string
	// TrustMirror lets the mirror also say which SHA-256 the projects publish. Without it they say
	// so themselves.
	TrustMirror bool
	// Registries are the URLs to ask about images in place of registries, by their hosts. Whoever
	// can write there decides what machines run.
	Registries map[string]string
	// Push is the URL of a registry that gets images, empty if none does.
	Push string
	// Progress gets a line before each file is fetched; it may be nil.
	Progress io.Writer
}

// New returns a Locker.
func New(options Options) *Locker {
	c := newClient(slices.AppendSeq([]string{options.Mirror, options.Push},
		maps.Values(options.Registries)))
	return &Locker{
		Options: options, client: c,
		registries: newRegistries(c, options.Registries, storedCredential),
	}
}

// Make returns the lock for what is wanted, in that order. Entries that the old lock has stay as
// they are, and nobody is asked about them. Each other file is fetched, and must have the SHA-256
// that its project publishes beside it and, if kiln's own table has the file, the one of the table.
// The error joins what is wrong with each file; then there is no lock, because machines would fetch
// nothing that it lacks.
func (l *Locker) Make(
	ctx context.Context, wanted, old []target.Artifact,
) ([]target.Artifact, error) {
	out := make([]target.Artifact, 0, len(wanted))
	var failures []error
	for _, want := range wanted {
		a, ok := find(old, want)
		var err error
		switch {
		case !ok:
			a, err = l.fetch(ctx, want)
		case l.saved != nil:
			var problem string
			if problem, err = l.compare(ctx, a); err == nil && problem != "" {
				err = errors.New(problem)
			}
		}
		if ctx.Err() != nil {
			return nil, errInterrupted
		} else if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", want, err))
		}
		out = append(out, a)
	}
	if len(failures) > 0 {
		return nil, WithAdvice(failures)
	}
	return out, nil
}

// errInterrupted comes after a signal.
var errInterrupted = errors.New("interrupted")

// WithAdvice joins errors. If one of them is that no server could be reached, it says what a
// network may need.
func WithAdvice(failures []error) error {
	err := errors.Join(failures...)
	var op *net.OpError
	var refused refusedError
	if errors.As(err, &op) && op.Op == "dial" && !errors.As(err, &refused) {
		err = errors.Join(err, errors.New("no connection: if this network needs a proxy, set "+
			"HTTPS_PROXY; if it has a mirror, name it with --mirror and "+
			"--trust-mirror, and that of images with --registry"))
	}
	return err
}

// Check returns how a lock differs from what is wanted, and from what is published now: one line
// for each entry that is missing, is not needed any more, or whose file has changed or is gone. The
// error joins why other files could not be compared.
func (l *Locker) Check(
	ctx context.Context, wanted, locked []target.Artifact,
) (differences []string, err error) {
	var failures []error
	for _, a := range locked {
		if _, ok := find(wanted, a); !ok {
			differences = append(differences,
				a.String()+": no machine fetches it; kiln lock removes it")
		}
	}
	for _, want := range wanted {
		a, ok := find(locked, want)
		if !ok {
			differences = append(differences, want.String()+": missing; kiln lock adds it")
			continue
		}
		problem, err := l.compare(ctx, a)
		switch {
		case ctx.Err() != nil:
			return differences, errInterrupted
		case err != nil:
			failures = append(failures, fmt.Errorf("%s: %w", a, err))
		case problem != "":
			differences = append(differences, a.String()+": "+problem)
		}
	}
	if len(failures) > 0 {
		return differences, WithAdvice(failures)
	}
	return differences, nil
}

// compare fetches a file and returns how it differs from its entry, "" if it does not.
func (l *Locker) compare(ctx context.Context, a target.Artifact) (problem string, err error) {
	sum, size, err := l.hash(ctx, a.URL)
	switch {
	case gone(err):
		return err.Error(), nil
	case err != nil:
		return "", err
	case sum != a.SHA256:
		return fmt.Sprintf("%s has %s, and the lock %s: find out who changed it",
			target.Mirrored(a.URL, l.Mirror), otherSum, a.SHA256), nil
	case a.Size > 0 && size != a.Size:
		return fmt.Sprintf("%s has %d bytes, and the lock %d: correct its size",
			target.Mirrored(a.URL, l.Mirror), size, a.Size), nil
	}
	return "", nil
}

// fetch returns an artifact with the SHA-256 that its project publishes.
func (l *Locker) fetch(ctx context.Context, want target.Artifact) (target.Artifact, error) {
	p, ok := target.ProgramNamed(want.Name)
	if !ok {
		return want, errors.New("no program of kiln has this name")
	}
	if p.URL == "" {
		return want, errors.New("nobody publishes it for every release of the system; write its " +
			"entry yourself: docs/binaries.md")
	}
	want.URL = p.At(p.URL, want.Version, want.Arch)
	list := p.At(p.Sums, want.Version, want.Arch)
	if l.TrustMirror {
		list = target.Mirrored(list, l.Mirror)
	}
	published, err := l.client.published(ctx, list, want.URL)
	if err != nil {
		return want, err
	}
	if want.SHA256, want.Size, err = l.hash(ctx, want.URL); err != nil {
		return want, err
	}
	if want.SHA256 != published {
		return want, fmt.Errorf("%s has %s, and %s says %s: the server or somebody on "+
			"the way has changed one of them; try again from another network",
			target.Mirrored(want.URL, l.Mirror), otherSum, list, published)
	}
	if known, ok := find(target.PublishedArtifacts, want); ok && known.SHA256 != want.SHA256 {
		return want, fmt.Errorf("%s has %s, and the table of kiln says %s: "+
			"it was replaced after its release; find out why before you use it",
			target.Mirrored(want.URL, l.Mirror), otherSum, known.SHA256)
	}
	return want, nil
}

// otherSum stands for the SHA-256 of what came. It may be what a server says to this computer
// alone, also behind a redirection, and the hash in a log of CI would confirm a guess at it.
const otherSum = "another SHA-256"

// hash fetches a file, from the mirror if there is one, and returns its SHA-256 and its size.
func (l *Locker) hash(ctx context.Context, url string) (sum string, size int64, err error) {
	from := target.Mirrored(url, l.Mirror)
	if l.Progress != nil {
		_, _ = fmt.Fprintf(l.Progress, "kiln: fetching %s\n", from)
	}
	if l.saved == nil {
		return l.client.hash(ctx, from, noFile)
	}
	name, err := l.saved.take(url)
	if err != nil {
		return "", 0, err
	}
	return l.client.hash(ctx, from, func() (io.WriteCloser, error) { return l.saved.create(name) })
}

// find returns the artifact of a list with the name, version and architecture of another one.
func find(list []target.Artifact, want target.Artifact) (a target.Artifact, ok bool) {
	return target.FindArtifact(list, want.Name, want.Version, want.Arch)
}

// Package lock finds out the SHA-256 and the size of what machines fetch. It is the one part of
// kiln that asks the network, and nothing that renders imports it.
package lock

import (
	"context"
	"errors"
	"fmt"
	"io"

	"kiln/render/target"
)

// Locker makes and checks locks.
type Locker struct {
	// Mirror takes the place of scheme and host in every URL that is asked, unless it is empty. The
	// lock has the URLs of the projects in any case.
	Mirror string
	// Progress gets a line before each file is fetched.
	Progress io.Writer

	client client
}

// Make returns the lock for what is wanted, in that order. Entries that the old lock has stay as
// they are, and nobody is asked about them. Each other file is fetched, and must have the SHA-256
// that its project publishes beside it and, if kiln's own table has the file, the one of the table.
// The error joins what is wrong with each file.
func (l *Locker) Make(
	ctx context.Context, wanted, old []target.Artifact,
) ([]target.Artifact, error) {
	var out []target.Artifact
	var failures []error
	for _, want := range wanted {
		if a, ok := find(old, want); ok {
			out = append(out, a)
			continue
		}
		a, err := l.fetch(ctx, want)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", want, err))
			continue
		}
		out = append(out, a)
	}
	return out, errors.Join(failures...)
}

// Check returns how a lock differs from what is wanted, and from what is published now: one line
// for each entry that is missing, is not needed any more, cannot be fetched, or has changed.
func (l *Locker) Check(
	ctx context.Context, wanted, locked []target.Artifact,
) (differences []string) {
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
		if problem := l.compare(ctx, a); problem != "" {
			differences = append(differences, a.String()+": "+problem)
		}
	}
	return differences
}

// compare fetches a file and returns how it differs from its entry, "" if it does not.
func (l *Locker) compare(ctx context.Context, a target.Artifact) string {
	l.say("fetching %s", a.URL)
	sum, size, err := l.client.hash(ctx, l.at(a.URL))
	switch {
	case err != nil:
		return err.Error()
	case sum != a.SHA256:
		return fmt.Sprintf("%s has the SHA-256 %s, and the lock %s: find out who changed it",
			a.URL, sum, a.SHA256)
	case a.Size > 0 && size != a.Size:
		return fmt.Sprintf("%s has %d bytes, and the lock %d: correct the lock",
			a.URL, size, a.Size)
	}
	return ""
}

// fetch returns an artifact with the SHA-256 that its project publishes.
func (l *Locker) fetch(ctx context.Context, want target.Artifact) (target.Artifact, error) {
	p, ok := target.ProgramNamed(want.Name)
	if !ok {
		return want, errors.New("no program of kiln has this name")
	}
	want.URL = p.At(p.URL, want.Version, want.Arch)
	list := p.At(p.Sums, want.Version, want.Arch)
	published, err := l.client.published(ctx, l.at(list), want.URL)
	if err != nil {
		return want, err
	}
	l.say("fetching %s", want.URL)
	if want.SHA256, want.Size, err = l.client.hash(ctx, l.at(want.URL)); err != nil {
		return want, err
	}
	if want.SHA256 != published {
		return want, fmt.Errorf("%s has the SHA-256 %s, and %s says %s: the server or somebody on "+
			"the way has changed one of them; try again from another network",
			want.URL, want.SHA256, list, published)
	}
	if known, ok := find(target.Artifacts, want); ok && known.SHA256 != want.SHA256 {
		return want, fmt.Errorf("%s has the SHA-256 %s, and the table of kiln says %s: "+
			"it was replaced after its release; find out why before you use it",
			want.URL, want.SHA256, known.SHA256)
	}
	return want, nil
}

// at returns where a URL is asked: there, or at the mirror.
func (l *Locker) at(url string) string { return target.Mirrored(url, l.Mirror) }

func (l *Locker) say(format string, args ...any) {
	if l.Progress != nil {
		_, _ = fmt.Fprintf(l.Progress, "kiln: "+format+"\n", args...)
	}
}

// find returns the artifact of a list with the name, version and architecture of another one.
func find(list []target.Artifact, want target.Artifact) (a target.Artifact, ok bool) {
	return target.FindArtifact(list, want.Name, want.Version, want.Arch)
}

package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/images"
)

// wantedImage is an image without a digest, once.
type wantedImage struct {
	name   string
	every  []string // architectures of the machines that all run it
	arches []string // those of the machines that may run it
}

// unpinned returns the images without a digest, sorted by name.
func unpinned(list []images.Image) (out []wantedImage) {
	for _, image := range list {
		if _, digest := target.SplitDigest(image.Reference); digest != "" {
			continue
		}
		i := slices.IndexFunc(out, func(w wantedImage) bool { return w.name == image.Reference })
		if i < 0 {
			i = len(out)
			out = append(out, wantedImage{name: image.Reference})
		}
		out[i].arches = append(out[i].arches, image.Arches...)
		if image.Every {
			out[i].every = append(out[i].every, image.Arches...)
		}
	}
	slices.SortFunc(out, func(a, b wantedImage) int { return strings.Compare(a.name, b.name) })
	return out
}

// Images returns the digests of images for a lock, sorted by name. Entries that the old lock has
// stay as they are, and nobody is asked about them. notes name images that some machines cannot
// run. The error joins what is wrong with each image; then there is no lock.
func (l *Locker) Images(
	ctx context.Context, list []images.Image, old []target.Image,
) (out []target.Image, notes []string, err error) {
	var failures []error
	out = []target.Image{}
	for _, want := range unpinned(list) {
		if i := indexOf(old, want.name); i >= 0 {
			out = append(out, old[i])
			continue
		}
		found, note, err := l.ask(ctx, &want)
		switch {
		case ctx.Err() != nil:
			return nil, nil, errInterrupted
		case err != nil:
			failures = append(failures, fmt.Errorf("image %s: %w", want.name, err))
		case note != "":
			notes = append(notes, "image "+want.name+": "+note)
		}
		out = append(out, target.Image{Name: want.name, Digest: found})
	}
	if len(failures) > 0 {
		return nil, nil, WithAdvice(failures)
	}
	return out, notes, nil
}

// CheckImages returns how the images of a lock differ from what is wanted, and from what registries
// have now, as Check does for files.
func (l *Locker) CheckImages(
	ctx context.Context, list []images.Image, locked []target.Image,
) (differences []string, err error) {
	wanted := unpinned(list)
	for _, image := range locked {
		if !slices.ContainsFunc(wanted, func(w wantedImage) bool { return w.name == image.Name }) {
			differences = append(differences,
				"image "+image.Name+": no machine runs it; kiln lock removes it")
		}
	}
	var failures []error
	for _, want := range wanted {
		i := indexOf(locked, want.name)
		if i < 0 {
			differences = append(differences, "image "+want.name+": missing; kiln lock adds it")
			continue
		}
		found, _, err := l.ask(ctx, &want)
		switch {
		case ctx.Err() != nil:
			return differences, errInterrupted
		case gone(err):
			differences = append(differences, fmt.Sprintf("image %s: %s", want.name, err))
		case err != nil:
			failures = append(failures, fmt.Errorf("image %s: %w", want.name, err))
		case found != locked[i].Digest:
			differences = append(differences, fmt.Sprintf("image %s: the registry has %s now, and "+
				"the lock %s: find out who moved the tag; without its entry, kiln lock asks anew",
				want.name, found, locked[i].Digest))
		}
	}
	if len(failures) > 0 {
		return differences, WithAdvice(failures)
	}
	return differences, nil
}

// ask asks the registry for the digest of an image. It fails if the image is not for the
// architecture of a machine that has to run it; note says that of machines that may run it.
func (l *Locker) ask(
	ctx context.Context, want *wantedImage,
) (digest, note string, err error) {
	if l.Progress != nil {
		_, _ = fmt.Fprintf(l.Progress, "kiln: asking %s for %s\n",
			l.registries.repository(want.name), want.name)
	}
	found, err := l.registries.describe(ctx, want.name)
	if err != nil || found.arches == nil {
		return found.digest, "", err
	}
	builds := "it has " + strings.Join(found.arches, ", ")
	if len(found.arches) == 0 {
		builds = "it has none for Linux"
	}
	has := func(arch string) bool { return slices.Contains(found.arches, arch) }
	lacking := func(arches []string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(arches), has), ", ")
	}
	if missing := lacking(want.every); missing != "" {
		return "", "", fmt.Errorf("has no build for %s, and machines of that architecture run "+
			"it; %s", missing, builds)
	}
	missing := lacking(want.arches)
	switch {
	case missing == "":
		return found.digest, "", nil
	case !slices.ContainsFunc(want.arches, has):
		return "", "", fmt.Errorf("has no build for any machine of the cluster; %s", builds)
	}
	return found.digest, fmt.Sprintf("has no build for %s; keep its pods from machines of that "+
		"architecture (kubernetes.io/arch)", missing), nil
}

func indexOf(list []target.Image, name string) int {
	return slices.IndexFunc(list, func(i target.Image) bool { return i.Name == name })
}

// Needs is what the machines of a cluster fetch and run.
type Needs struct {
	Artifacts []target.Artifact
	Images    []images.Image
	Pin       bool // the lock is to have images
}

// Any reports whether a lock is needed.
func (n *Needs) Any() bool { return len(n.Artifacts) > 0 || n.Pin }

// MakeAll returns the lock with all that is wanted, as Save and Images do. What is wrong with files
// and with images comes in one error.
func (l *Locker) MakeAll(
	ctx context.Context, dir string, needs Needs, old *config.Locked,
) (made *config.Locked, notes []string, err error) {
	made = &config.Locked{}
	if needs.Pin {
		made.Images, notes, err = l.Images(ctx, needs.Images, old.Images)
	}
	if err != nil {
		dir = "" // nothing is kept: what is wrong with files is said too, and that is all
	}
	var other error
	if ctx.Err() == nil {
		made.Artifacts, other = l.Save(ctx, dir, needs.Artifacts, old.Artifacts)
	}
	return made, notes, errors.Join(other, err)
}

// CheckAll returns how a lock differs from what is wanted, as Check and CheckImages do. Their error
// has the differences too.
func (l *Locker) CheckAll(
	ctx context.Context, needs Needs, locked *config.Locked,
) (differences []string, err error) {
	differences, err = l.Check(ctx, needs.Artifacts, locked.Artifacts)
	if needs.Pin && ctx.Err() == nil {
		more, other := l.CheckImages(ctx, needs.Images, locked.Images)
		differences, err = append(differences, more...), errors.Join(err, other)
	}
	if err != nil {
		for _, line := range slices.Backward(differences) {
			err = errors.Join(errors.New(line), err)
		}
	}
	return differences, err
}

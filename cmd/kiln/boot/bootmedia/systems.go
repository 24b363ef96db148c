package bootmedia

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"kiln.dev/kiln/cmd/kiln/boot/media"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/facts/target"
)

// systems puts the flags about systems and machines into the settings. Its error holds everything
// that is wrong with the flags.
func (n *Netboot) systems(entries []render.Entry) error {
	s := &n.settings
	s.Images, s.Append = map[string]media.Images{}, map[string][]string{}
	var present []string // the systems that machines have
	for _, name := range media.Systems() {
		if slices.ContainsFunc(entries, func(e render.Entry) bool { return e.OS == name }) {
			present = append(present, name)
		}
	}
	image := func(put func(i *media.Images, address string)) func(system, value string) error {
		return func(system, value string) error {
			if value == "" || strings.Contains(value, " ") {
				return errors.New("want one address")
			}
			i := s.Images[system]
			put(&i, value)
			s.Images[system] = i
			return nil
		}
	}
	return errors.Join(
		each("kernel", n.Kernel, present, image(func(i *media.Images, address string) {
			i.Kernel = address
		})),
		each("initrd", n.Initrds, present, image(func(i *media.Images, address string) {
			i.Initrds = append(i.Initrds, address)
		})),
		each("rootfs", n.RootFS, present, image(func(i *media.Images, address string) {
			i.RootFS = address
		})),
		each("append", n.Append, present, func(system, value string) error {
			s.Append[system] = append(s.Append[system], words(value)...)
			return nil
		}),
		n.disks(),
		n.diskImage(present),
	)
}

// diskImage puts the flag --install-image into the settings. flatcar-install takes the address of
// an image in parts, BASE/FOLDER/NAME: it knows one name, and takes the names of its channels as a
// folder for something else.
func (n *Netboot) diskImage(present []string) error {
	if n.InstallImage == "" {
		return nil
	}
	if withUser.MatchString(n.InstallImage) {
		return fmt.Errorf("--install-image: %w", errUser)
	}
	const system = "flatcar"
	s, _ := target.SystemNamed(system)
	folder := path.Base(path.Dir(n.InstallImage))
	base := path.Dir(path.Dir(n.InstallImage))
	err := media.Argument(n.InstallImage)
	switch {
	case err != nil:
	case !slices.Contains(present, system):
		err = fmt.Errorf("no machine has %s; they have %s", system, strings.Join(present, ", "))
	case path.Base(n.InstallImage) != s.NetBoot.DiskImage, folder == ".", folder == "/",
		strings.HasSuffix(base, ":"):
		err = fmt.Errorf("flatcar-install wants the name %s, in a folder", s.NetBoot.DiskImage)
	case slices.Contains([]string{"alpha", "beta", "stable", "edge"}, folder):
		err = fmt.Errorf("flatcar-install takes the folder %s for a channel; give it another name",
			folder)
	default:
		images := n.settings.Images[system]
		images.Disk = n.InstallImage
		n.settings.Images[system] = images
		return nil
	}
	return fmt.Errorf("--install-image %s: %w", n.InstallImage, err)
}

// each calls put with the system and the value of each [OS=]VALUE of a flag. It returns an error
// for each value that is wrong. The flags kernel and rootfs have one value for each system.
func each(
	flag string, values, present []string, put func(system, value string) error,
) error {
	var errs []error
	seen := map[string]bool{}
	for _, given := range values {
		if withUser.MatchString(given) {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, errUser))
			continue
		}
		system, value, err := splitSystem(given, present, flag != "append")
		for _, word := range words(value) {
			err = errors.Join(err, media.Argument(word))
		}
		if err == nil && seen[system] && (flag == "kernel" || flag == "rootfs") {
			err = fmt.Errorf("%s has one already", system)
		}
		if err == nil {
			err = put(system, value)
		}
		if err != nil {
			if strings.ContainsFunc(given, unicode.IsControl) {
				given = strconv.Quote(given)
			}
			errs = append(errs, fmt.Errorf("--%s %s: %w", flag, given, err))
			continue
		}
		seen[system] = true
	}
	return errors.Join(errs...)
}

// withUser matches an address with a user, and perhaps a password.
var withUser = regexp.MustCompile(`://[^/\s]*@`)

// errUser does not show the address.
var errUser = errors.New("a user in an address, which every process of the machine could read; " +
	"give an address without one")

// words returns the parts of a value between blanks. Any other space stays in its part, where
// media.Argument refuses it: in a script a newline would begin another command.
func words(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ' ' })
}

// systemWord matches what may be meant as the name of a system.
var systemWord = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// splitSystem divides [OS=]VALUE. A value without OS= is for the only system that the machines
// have. It is an address, or arguments of the kernel, which may have an = of their own.
func splitSystem(given string, present []string, address bool) (system, value string, err error) {
	system, value, ok := strings.Cut(given, "=")
	switch {
	case ok && slices.Contains(present, system):
		return system, value, nil
	case ok && slices.Contains(media.Systems(), system):
		return "", "", fmt.Errorf("no machine has %s; they have %s",
			system, strings.Join(present, ", "))
	case len(present) == 0:
		return "", "", errors.New("no machine boots over the network")
	case ok && address && systemWord.MatchString(system):
		return "", "", fmt.Errorf("there is no system %q; write %s", system,
			strings.Join(present, " or "))
	case len(present) == 1:
		return present[0], given, nil
	}
	return "", "", fmt.Errorf("for which system? write it like %s=%s",
		strings.Join(present, "=… or "), given)
}

// device matches the name of a disk.
var device = regexp.MustCompile(`^/dev/[A-Za-z0-9][A-Za-z0-9/_.:+-]*$`)

// disks puts the flag --install-dev into the settings: a disk for all machines, or for the one that
// is named.
func (n *Netboot) disks() error {
	n.settings.Disks = map[string]string{}
	var errs []error
	for _, given := range n.InstallDev {
		node, disk, ok := strings.Cut(given, "=")
		if !ok || strings.HasPrefix(node, "/") {
			node, disk = "", given
		}
		if _, twice := n.settings.Disks[node]; twice || !device.MatchString(disk) {
			errs = append(errs,
				fmt.Errorf("--install-dev %s: want one [NODE=]/dev/… for each machine", given))
		}
		n.settings.Disks[node] = disk
	}
	return errors.Join(errs...)
}
